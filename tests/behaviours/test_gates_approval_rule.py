"""The approval rule: the single definition of "this needs a person"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pytest
from langchain_core.messages import ToolCall

from tests.support import Recorder, call, chat, says
from toolgate_langchain import (
    ApprovalRule,
    Caller,
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
    Verdict,
)
from toolgate_langchain.approvals.heuristics import HeuristicContext
from toolgate_langchain.catalog.remote import Declaration, RemoteServer
from toolgate_langchain.policy.caller import Skill
from toolgate_langchain.policy.context import CallFacts

CHAT = Surface("chat")
OPEN = Surface("open", routine=Verdict.ALLOW, consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW)
READ = ToolProfile(tier=Tier.READ_ONLY)


def needs(
    profile: ToolProfile,
    *,
    surface: Surface = CHAT,
    server: RemoteServer | None = None,
    hints: Mapping[str, Any] | None = None,
    undeclared_remote: Literal["unclassified", "exempt"] = "unclassified",
    facts: CallFacts | None = None,
) -> bool:
    """Whether a call of a tool of this kind needs a person, as the whole gate has it."""
    tool, catalog = Recorder().tool("act"), ToolCatalog()
    if server is None:
        catalog.register(tool, profile)
    else:
        catalog.add_remote(
            replace(server, profiles={"act": profile}), [tool.model_copy(update={"metadata": dict(hints or {})})]
        )
    gate = ToolGate(catalog, [surface], approval_rule=ApprovalRule(undeclared_remote))
    decision = gate.decide({"name": "act", "args": {}}, surface=surface, facts=facts)
    assert decision.verdict is (Verdict.ASK if decision.needs_person else Verdict.ALLOW)
    return decision.needs_person


def test_an_unknown_name_needs_a_person_and_a_known_read_only_one_does_not() -> None:
    rule = ApprovalRule()
    catalog = ToolCatalog.from_tools([Recorder().tool("act", READ)])
    assert rule.need(catalog.get("unknown"), OPEN).needed
    assert not rule.need(catalog.get("act"), OPEN).needed


@pytest.mark.parametrize("surface", [CHAT, OPEN])
def test_a_marker_needs_a_person_on_every_surface(surface: Surface) -> None:
    assert needs(ToolProfile(tier=Tier.READ_ONLY, requires_approval=True), surface=surface)
    assert not needs(READ, surface=surface)


def test_consequential_needs_a_person_on_the_default_surface_and_elsewhere_as_the_surface_says() -> None:
    consequential = ToolProfile(tier=Tier.CONSEQUENTIAL)
    assert needs(consequential)
    assert not needs(consequential, surface=Surface("cli", consequential=Verdict.ALLOW))
    assert needs(consequential, surface=Surface("cli", consequential=Verdict.ASK))


def test_routine_is_as_the_surface_says() -> None:
    routine = ToolProfile(tier=Tier.ROUTINE)
    assert needs(routine)
    assert not needs(routine, surface=Surface("cli", routine=Verdict.ALLOW))


def test_read_only_does_not_need_a_person_on_the_default_surface() -> None:
    assert not needs(READ)
    assert needs(READ, surface=Surface("careful", read_only=Verdict.ASK))


def test_remote_declared_true_needs_a_person_and_declared_false_does_not_whatever_its_own_classification() -> None:
    yes, no = RemoteServer("srv", declarations={"act": True}), RemoteServer("srv", declarations={"act": False})
    for profile in (READ, ToolProfile(), ToolProfile(tier=Tier.CONSEQUENTIAL)):
        assert needs(profile, server=yes)
        assert not needs(profile, server=no)


def test_remote_undeclared_needs_a_person_and_with_the_exemption_it_does_not() -> None:
    server = RemoteServer("srv")
    for profile in (READ, ToolProfile(), ToolProfile(tier=Tier.CONSEQUENTIAL)):
        assert needs(profile, server=server)
        assert not needs(profile, server=server, undeclared_remote="exempt")
    declared_otherwise = RemoteServer("srv", declarations={"act": True})
    assert needs(READ, server=declared_otherwise, undeclared_remote="exempt")


def _says(said: Any, _: Mapping[str, Any]) -> bool:
    return said  # type: ignore[no-any-return]


def _raises(_: Mapping[str, Any]) -> bool:
    raise RuntimeError("no idea")


def test_a_predicate_that_says_true_raises_or_returns_1_needs_a_person() -> None:
    says_yes: Sequence[Any] = (True, 1, None, "false", "", 0, [], 0.0)
    for said in says_yes:
        assert needs(replace(READ, approval_when=partial(_says, said)))
    assert needs(replace(READ, approval_when=_raises))
    assert not needs(replace(READ, approval_when=lambda _: False))


def test_a_saved_outcome_of_a_predicate_that_is_not_exactly_false_needs_a_person() -> None:
    asking = replace(READ, approval_when=lambda _: False)
    for saved in (True, 0, "", "false"):
        assert needs(asking, facts=CallFacts(predicate=saved))  # type: ignore[arg-type]
    assert not needs(replace(READ, approval_when=lambda _: True), facts=CallFacts(predicate=False))


def test_a_predicate_that_says_false_is_as_the_tier_says() -> None:
    says_no = ToolProfile(approval_when=lambda _: False)
    for tier, needed in ((Tier.READ_ONLY, False), (Tier.ROUTINE, True), (Tier.CONSEQUENTIAL, True), (None, True)):
        assert needs(replace(says_no, tier=tier)) is needed
        assert not needs(replace(says_no, tier=tier), surface=OPEN)


def test_a_predicate_sees_the_effective_arguments_of_the_call() -> None:
    big = ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda arguments: arguments["amount"] > 10)
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    gate = ToolGate(ToolCatalog.from_tools([Recorder().tool("pay", big, schema=schema)]))
    assert gate.decide({"name": "pay", "args": {"amount": 11}}, surface="chat").verdict is Verdict.ASK
    assert gate.decide({"name": "pay", "args": {"amount": 10}}, surface="chat").verdict is Verdict.ALLOW


def test_a_marker_cannot_be_lifted_by_a_declaration_a_hint_or_a_predicate() -> None:
    marked = ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)
    lifts = RemoteServer("srv", declarations={"act": False}, trust_hints=True)
    assert needs(marked, server=lifts, hints={"readOnlyHint": True})
    assert not needs(READ, server=lifts, hints={"readOnlyHint": True})
    assert needs(replace(marked, approval_when=lambda _: False))
    assert needs(marked, facts=CallFacts(predicate=False))


def _answers(answer: bool, _call: ToolCall, _context: HeuristicContext) -> bool:
    return answer


def test_a_marker_cannot_be_lifted_by_a_heuristics_existence_but_a_heuristic_that_says_yes_may_release_it() -> None:
    """A person is needed either way; only what really said yes stands in for one."""
    marked = ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)
    for answer, asked in ((False, True), (True, False)):
        ran = Recorder()
        gate = ToolGate(heuristics=[partial(_answers, answer)])
        talk = chat([says(call("act", "a"))], [ran.tool("act", marked)], gate=gate)
        talk.say()
        assert bool(talk.requests) is asked
        assert ran.count("act") == (0 if asked else 1)


@pytest.mark.parametrize("given", ["0", "no", 0, None, 1, "true"])
def test_0_no_and_none_where_a_boolean_belongs_are_an_error_and_not_a_guess(given: Any) -> None:
    """In every record that an operator writes, in Python as in what is read back from JSON."""
    for make in (
        lambda value: ToolProfile(requires_approval=value),
        lambda value: ToolProfile(admin_only=value),
        lambda value: ToolProfile(idempotent=value),
        lambda value: Surface("chat", attended=value),
        lambda value: Caller("ann", admin=value),
        lambda value: RemoteServer("srv", trust_hints=value),
        lambda value: RemoteServer("srv", declarations={"act": value}),
        lambda value: Declaration(requires_approval=value),
        lambda value: Skill("s", ("act",), enabled=value),
        lambda value: RunConfiguration.from_json({"skills": [{"name": "s", "tools": ["act"], "enabled": value}]}),
        lambda value: ToolCatalog(closed=value),
        lambda value: ToolCatalog.from_tools([Recorder().tool("act")]).switch_tool("act", on=value),
        lambda value: ToolCatalog().switch_group("mail", on=value),
    ):
        with pytest.raises(ValueError, match=r"bool|True or False"):
            make(given)
        make(True)
