"""Lines 29 and 30: what explaining does, and what the model is told."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import ToolMessage

from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.policy.caller import Caller, RunConfiguration
from toolgate_langchain.policy.context import CallFacts, RunMemory
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.testing.attacking import LetThrough, Refused, attack
from toolgate_langchain.testing.attacks.controls import read_runs
from toolgate_langchain.testing.model import call, says
from toolgate_langchain.testing.tools import NOTE, READ, REMOVE
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from toolgate_langchain.testing.attacking import Attack
    from toolgate_langchain.testing.scene import Scene

__all__ = ["ATTACKS"]

_CALLS: Final = 1_000
_GROUP: Final = "redteam-hidden-group"
_CALLER: Final = "redteam-hidden-caller"
_ADMIN: Final = "redteam_admin"
_GROUPED: Final = "redteam_grouped"


def _explained(scene: Scene) -> None:
    scene.register(scene.tool(READ))
    decision = scene.gate.explain(call(READ, path="a"), surface=scene.surface)
    if decision.verdict is not Verdict.ALLOW:
        raise Refused(decision.reason)


@attack(29, "explain-and-decide",
        f"For {_CALLS:,} random calls `explain` says something else than `decide`, or does something.",
        control=_explained, where="gate")  # fmt: skip
def explain_and_decide(scene: Scene) -> None:
    gate, asked = scene.gate, list[Any]()

    def notes(*given: Any) -> bool:
        asked.append(given)
        return False

    gate.judge.heuristics = (*gate.judge.heuristics, notes)
    for name in (READ, NOTE, REMOVE):
        scene.register(scene.tool(name))
    scene.register(scene.tool(_ADMIN, ToolProfile(tier=Tier.READ_ONLY, admin_only=True)))
    chance = random.Random(0)  # noqa: S311  # the same calls each time
    version = gate.catalog.version
    for _ in range(_CALLS):
        name = chance.choice((READ, NOTE, REMOVE, _ADMIN, "redteam_nothing"))
        made = call(name, "c", path=chance.choice(("a", "/etc", "", 5, None)))
        given: dict[str, Any] = {
            "surface": chance.choice(list(gate.surfaces.values())),
            "caller": chance.choice((None, Caller("ann"), Caller("root", admin=True))),
            "facts": CallFacts(
                heuristic=chance.choice((None, "redteam")),
                warnings=chance.choice(((), ("hidden",))),
                variant=chance.random() < 0.2,
                at_cap=chance.random() < 0.2,
                stopped=chance.random() < 0.1,
            ),
            "memory": RunMemory(rejections={name: chance.randrange(5)}),
        }
        decided, explained = gate.decide(made, **given), gate.explain(made, **given)
        if (decided.verdict, decided.code, decided.layer) != (explained.verdict, explained.code, explained.layer):
            raise LetThrough(
                f"`explain` says {explained.code!r} of a call of {name} where `decide` says {decided.code!r}"
            )
    if asked or scene.runs:
        raise LetThrough("explaining asked a heuristic or ran a tool")
    if gate.catalog.version != version:
        raise LetThrough("explaining changed the catalog")


def _refused_calls(scene: Scene) -> list[tuple[ToolMessage, str]]:
    """Calls that are refused for reasons that are nobody's business, with what the model is told of each."""
    profile = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({_GROUP}))
    grouped, admin = (
        scene.tool(_GROUPED, profile),
        scene.tool(_ADMIN, ToolProfile(tier=Tier.READ_ONLY, admin_only=True)),
    )
    read = scene.tool(READ, ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"redteam-open-group"})))
    for tool in (grouped, admin, read):
        scene.register(tool)
    configuration = RunConfiguration(groups=frozenset({"redteam-open-group"}))
    where: dict[str, Any] = {"caller": Caller(_CALLER), "configuration": configuration}
    calls = [call(_GROUPED, path="a"), call(_ADMIN, path="a"), call("redteam_nothing", path="a"), call(READ, path="a")]
    talk = scene.talk(says(*calls), tools=[grouped, admin, read], **where).say()
    reasons = {one["id"]: scene.gate.explain(one, surface=scene.surface, **where) for one in calls}
    return [
        (message, decision.reason)
        for message in talk.messages
        if isinstance(message, ToolMessage) and (decision := reasons[message.tool_call_id]).verdict is Verdict.DENY
        and decision.code != Code.INVALID_ARGUMENTS
    ]  # fmt: skip


@attack(30, "what-the-model-learns", "The model learns of rules, groups, zones or callers from what it is refused.",
        control=read_runs, where="any")  # fmt: skip
def what_the_model_learns(scene: Scene) -> None:
    refused = _refused_calls(scene)
    if scene.count(_GROUPED) or scene.count(_ADMIN):
        raise LetThrough("a tool ran that is for administrators, or outside of the run's configuration")
    if len(refused) < 3:
        raise LetThrough(f"of three calls that are refused, the model was told of {len(refused)}")
    for message, reason in refused:
        told = str(message.content)
        for secret in (reason, _GROUP, _CALLER, "administrator"):
            if secret in told:
                raise LetThrough(f"the model is told {secret!r}")


ATTACKS: tuple[Attack, ...] = (explain_and_decide, what_the_model_learns)
