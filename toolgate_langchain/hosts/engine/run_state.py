"""The gate's channels in an agent's state, and the run that is saved there.

Three private channels, all plain JSON: the run (written once when it starts), the current turn
(written when a turn needs a person, over the last one), and the thread's standing rules (written
when they change). Their size does not grow with the number of turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.approvals.turn import Run
from toolgate_langchain.policy.bounds import strictest
from toolgate_langchain.policy.caller import Caller, RunConfiguration
from toolgate_langchain.policy.context import RunContext
from toolgate_langchain.vocabulary import TrustZone

if TYPE_CHECKING:
    from toolgate_langchain.policy.surface import Surface

__all__ = [
    "CHANNELS",
    "RULES",
    "RUN",
    "TURN",
    "read_rules",
    "read_run",
    "write_rules",
    "write_run",
]

RUN: Final = "toolgate_run"
TURN: Final = "toolgate_turn"
RULES: Final = "toolgate_rules"
CHANNELS: Final = frozenset({RUN, TURN, RULES})

_FORMAT: Final = 1


def write_run(run: Run) -> dict[str, Any]:
    """The saved form of a run. Whoever resumes it does not lend it other rights."""
    context = run.context
    return {
        "v": _FORMAT,
        "id": run.id,
        "surface": context.surfaces[0].name,
        "caller": None if context.caller is None else {"id": context.caller.id, "admin": context.caller.admin},
        "configuration": context.configurations[0].to_json() if context.configurations else None,
        "zone": None if context.zone is None else context.zone.value,
        "agent_path": list(run.agent_path),
        **({"start": run.start} if run.start else {}),
        **({"agent": run.agent} if run.agent else {}),
        **_bounds(context),
    }


def _bounds(context: RunContext) -> dict[str, Any]:
    """What a run inside of another has besides its own; nothing for the root."""
    surfaces, configurations = context.surfaces[1:], context.configurations[1:]
    return {
        **({"surfaces": [surface.name for surface in surfaces]} if surfaces else {}),
        **({"configurations": [one.to_json() for one in configurations]} if configurations else {}),
    }


def read_run(
    value: Any,
    surfaces: Mapping[str, Surface],
    live: RunConfiguration | None,
    thread_id: str | None,
) -> Run | None:
    """Read a saved run back; `None` for anything that is not one.

    Args:
        value: The channel's value.
        surfaces: The gate's surfaces of today, by name.
        live: Today's configuration; a run gets what both the saved and the live one permit.
        thread_id: The thread that the run is on.
    """
    if not isinstance(value, Mapping) or value.get("v") != _FORMAT:
        return None
    try:
        saved = [value["configuration"], *value.get("configurations", ())]
        given = [*(RunConfiguration.from_json(one) for one in saved if one is not None), live]
        caller = None if value["caller"] is None else Caller(**value["caller"])
        named = tuple(surfaces[name] for name in (value["surface"], *value.get("surfaces", ())))
        context = RunContext(
            surface=strictest(named),
            caller=caller,
            configurations=tuple(dict.fromkeys(one for one in given if one is not None)),
            zone=None if value["zone"] is None else TrustZone(value["zone"]),
            combined=named if len(named) > 1 else (),
        )
        path, start = tuple(value["agent_path"]), str(value.get("start", ""))
        if not all(isinstance(name, str) for name in path):
            return None
        return Run(str(value["id"]), context, thread_id, path, start, str(value.get("agent", "")))
    except (KeyError, TypeError, ValueError, ValidationError):
        return None


def write_rules(rules: tuple[StandingRule, ...]) -> dict[str, Any]:
    """The saved form of a thread's rules."""
    return {"v": _FORMAT, "rules": [rule.to_json() for rule in rules]}


def read_rules(value: Any) -> tuple[StandingRule, ...]:
    """Read saved rules back; what cannot be read is no rule, which releases nothing."""
    if not isinstance(value, Mapping) or value.get("v") != _FORMAT:
        return ()
    rules = []
    for item in value.get("rules") or ():
        try:
            rules.append(StandingRule.from_json(item))
        except ValidationError:
            continue
    return tuple(rules)
