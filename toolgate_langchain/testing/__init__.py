"""For tests of agents behind a gate: a scripted model, and a red team to try a configuration out.

    from toolgate_langchain.testing import red_team

    report = red_team(make_gate)
    assert report.ok, report

Names load when they are first used: the model needs langchain-core alone, the red team the extra `agents`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolgate_langchain.testing.attacking import (
        Attack,
        ControlOutcome,
        LetThrough,
        NotApplicable,
        Outcome,
        Refused,
        attack,
    )
    from toolgate_langchain.testing.hosts import Conversation, Host, Setup
    from toolgate_langchain.testing.model import ScriptedModel, call, says
    from toolgate_langchain.testing.redteam import all_attacks, all_hosts, red_team
    from toolgate_langchain.testing.report import Finding, Report
    from toolgate_langchain.testing.scene import Scene
    from toolgate_langchain.testing.talking import Talk

__all__ = [
    "Attack",
    "ControlOutcome",
    "Conversation",
    "Finding",
    "Host",
    "LetThrough",
    "NotApplicable",
    "Outcome",
    "Refused",
    "Report",
    "Scene",
    "ScriptedModel",
    "Setup",
    "Talk",
    "all_attacks",
    "all_hosts",
    "attack",
    "call",
    "red_team",
    "says",
]

_WHERE = {
    "attacking": ("Attack", "ControlOutcome", "LetThrough", "NotApplicable", "Outcome", "Refused", "attack"),
    "hosts": ("Conversation", "Host", "Setup"),
    "model": ("ScriptedModel", "call", "says"),
    "redteam": ("all_attacks", "all_hosts", "red_team"),
    "report": ("Finding", "Report"),
    "scene": ("Scene",),
    "talking": ("Talk",),
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    for module, names in _WHERE.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
