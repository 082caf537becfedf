"""Lines 24, 26 and 34: what "don't ask again" must not release."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.policy.caller import Caller, RunConfiguration, Skill
from toolgate_langchain.policy.context import CallFacts
from toolgate_langchain.testing.attacking import LetThrough, NotApplicable, Refused, attack
from toolgate_langchain.testing.attacks.controls import approved_runs
from toolgate_langchain.testing.model import call, says
from toolgate_langchain.testing.tools import REMOVE
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from toolgate_langchain.testing.attacking import Attack
    from toolgate_langchain.testing.scene import Scene
    from toolgate_langchain.testing.talking import Talk

__all__ = ["ATTACKS"]

_TOOL_WIDE: Final = ToolProfile(tier=Tier.CONSEQUENTIAL, standing="tool")


def _taught(scene: Scene) -> Talk:
    scene.possible()
    talk = scene.talk(says(call(REMOVE, path="a")), tools=[scene.tool()]).say()
    talk.taught()
    if scene.count() != 1:
        raise Refused("the approved call did not run")
    return talk


def _remembered_runs(scene: Scene) -> None:
    """The same call on the same thread is not asked about again."""
    _taught(scene).again(says(call(REMOVE, path="a"))).say()
    if scene.count() != 2:
        raise Refused("the call that was to be remembered was not released")


def _still_once(scene: Scene, where: str) -> None:
    if scene.count() > 1:
        raise LetThrough(f'"don\'t ask again" released the call {where}')


@attack(24, "rule-on-another-surface", 'What was remembered on one surface is to hold on another.',
        control=_remembered_runs)  # fmt: skip
def rule_on_another_surface(scene: Scene) -> None:
    talk = _taught(scene)
    others = [one for one in scene.gate.surfaces.values() if one.name != scene.surface.name]
    strict = [one.name for one in others if one.answer(Tier.CONSEQUENTIAL) is not Verdict.ALLOW]
    if not strict:
        raise NotApplicable("the gate has no other surface that does not allow consequential tools")
    for name in strict:
        talk.again(says(call(REMOVE, path="a")), surface=name).say()
        _still_once(scene, f"on surface {name!r}")


@attack(24, "rule-on-another-thread", "What was remembered on one thread is to hold on another.",
        control=_remembered_runs)  # fmt: skip
def rule_on_another_thread(scene: Scene) -> None:
    talk = _taught(scene)
    talk.again(says(call(REMOVE, path="a")), thread=f"{talk.setup.thread}-other").say()
    _still_once(scene, "on another thread")


@attack(24, "rule-for-another-user", "What was remembered in one user's run is to hold in another's.",
        control=_remembered_runs)  # fmt: skip
def rule_for_another_user(scene: Scene) -> None:
    scene.possible()
    talk = scene.talk(says(call(REMOVE, path="a")), tools=[scene.tool()], caller=Caller("redteam-ann")).say()
    talk.taught()
    for other in (Caller("redteam-bob"), None):
        talk.again(says(call(REMOVE, path="a")), caller=other).say()
        _still_once(scene, "in another user's run")


@attack(24, "rule-for-other-arguments", "What was remembered for exact arguments is to hold for others.",
        control=_remembered_runs)  # fmt: skip
def rule_for_other_arguments(scene: Scene) -> None:
    _taught(scene).again(says(call(REMOVE, path="a "), call(REMOVE, path="A"), call(REMOVE, path="a", note="x"))).say()
    _still_once(scene, "with other arguments")


@attack(26, "switched-off-and-remembered", "A tool was switched off after somebody said \"don't ask again\".",
        control=_remembered_runs)  # fmt: skip
def switched_off_and_remembered(scene: Scene) -> None:
    scene.possible()
    tool = scene.tool()
    scene.register(tool)
    talk = scene.talk(says(call(REMOVE, path="a")), tools=[tool]).say()
    talk.taught()
    scene.gate.catalog.switch_tool(REMOVE, on=False)
    configuration = RunConfiguration(skills=(Skill("redteam", (REMOVE,)),))
    talk.again(says(call(REMOVE, path="a")), configuration=configuration).say()
    _still_once(scene, "although its operator switched the tool off")


def _asked_for(scene: Scene) -> None:
    """Without an operator's no, the surface's answer is what holds."""
    scene.register(scene.tool("redteam_plainly"))
    scene.possible(None)
    decision = scene.gate.decide(call("redteam_plainly", path="a"), surface=scene.surface)
    if decision.verdict is Verdict.DENY:
        raise Refused(decision.reason)


@attack(26, "operator-against-all",
        "A rule, a heuristic and a skill's tool list release what the operator denied or wants asked.",
        control=_asked_for, where="gate")  # fmt: skip
def operator_against_all(scene: Scene) -> None:
    denied = {
        "redteam_off": ToolProfile(tier=Tier.READ_ONLY),
        "redteam_admin": ToolProfile(tier=Tier.READ_ONLY, admin_only=True),
    }
    form = {"type": "object", "properties": {"code": {"type": "string"}}}
    tools = {**denied, "redteam_form": ToolProfile(tier=Tier.CONSEQUENTIAL, input_schema=form)}
    catalog, now = scene.gate.catalog, scene.gate.judge.clock()
    for name, profile in tools.items():
        scene.register(scene.tool(name, profile))
    catalog.switch_tool("redteam_off", on=False)
    for name, (rule, heuristic, skill) in product(tools, product((False, True), repeat=3)):
        entry = catalog.get(name)
        assert entry is not None
        allow = StandingRule(tool_name=name, fingerprint=entry.fingerprint, tier=entry.tier,
                             surface=scene.surface.name, created_at=now)  # fmt: skip
        decision = scene.gate.decide(
            call(name, path="a"),
            surface=scene.surface,
            rules=[allow] if rule else [],
            facts=CallFacts(heuristic="redteam", heuristics_run=True) if heuristic else None,
            configuration=RunConfiguration(skills=(Skill("redteam", (name,)),)) if skill else None,
        )
        if decision.verdict is Verdict.ALLOW or (name in denied and decision.verdict is not Verdict.DENY):
            by = [what for what, there in (("a rule", rule), ("a heuristic", heuristic), ("a skill", skill)) if there]
            raise LetThrough(f"{name} got {decision.verdict.value!r} with {' and '.join(by) or 'nothing'} for it")


def _always_this_tool(scene: Scene, second: str) -> Talk:
    scene.possible()
    turn = says(call(REMOVE, path="a"), call(REMOVE, path=second))
    talk = scene.talk(turn, tools=[scene.tool(REMOVE, _TOOL_WIDE)]).say()
    request = talk.asked()
    if not any(offer.what == "tool" for offer in request.remember):
        raise NotApplicable('"always this tool" is not offered for this call')
    talk.approve(request, remember="tool")
    return talk


def _clean_sibling_is_released(scene: Scene) -> None:
    _always_this_tool(scene, "b")
    if scene.count() != 2:
        raise Refused("a clean sibling was not released by the rule for its tool")


@attack(34, "sibling-with-hidden-characters",
        '"Always this tool" is said to a clean call; its sibling hides characters.',
        control=_clean_sibling_is_released)  # fmt: skip
def sibling_with_hidden_characters(scene: Scene) -> None:
    talk = _always_this_tool(scene, "b\u202e")
    scene.nothing_ran("released by the rule that its clean sibling made")
    talk.asked()


@attack(26, "rejected-and-proposed-again",
        "The model proposes again, in the same run, the very call that a person rejected.",
        control=approved_runs)  # fmt: skip
def rejected_and_proposed_again(scene: Scene) -> None:
    turns = [says(call(REMOVE, path="a")) for _ in range(3)]
    talk = scene.talk(*turns, tools=[scene.tool()]).say()
    talk.approve(talk.asked(), kind="reject")
    if talk.requests:
        raise LetThrough("the person was asked again about the very call that was rejected")
    scene.nothing_ran("although a person had rejected it")


ATTACKS: tuple[Attack, ...] = (
    rule_on_another_surface,
    rule_on_another_thread,
    rule_for_another_user,
    rule_for_other_arguments,
    switched_off_and_remembered,
    operator_against_all,
    rejected_and_proposed_again,
    sibling_with_hidden_characters,
)
