"""The suite can fail: each deliberately broken gate is told, by an attack of the right line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.testing.gates import FORMS, hosts_of, plain_gate, tried
from toolgate_langchain import ApprovalRule, InMemoryLedger, ToolGate, Verdict
from toolgate_langchain.approvals import (
    answer,
    asking,
    beside,
    judge,
    judged_record,
    queue,
    request,
    rules,
    shown,
    taken,
)
from toolgate_langchain.approvals.ledger import AnswerStatus, StartStatus
from toolgate_langchain.approvals.queue import ApprovalQueue
from toolgate_langchain.approvals.rules import RuleView
from toolgate_langchain.approvals.shown import Shown
from toolgate_langchain.catalog import arguments, entry, hints, intake, meeting, remote_tools
from toolgate_langchain.catalog.catalog import ToolCatalog
from toolgate_langchain.catalog.profile import METADATA_KEY, ToolProfile
from toolgate_langchain.hosts import deciding
from toolgate_langchain.hosts.engine import changed, claiming, last_look, last_step, refusal
from toolgate_langchain.hosts.engine.offering import Offering
from toolgate_langchain.hosts.inside.agents_inside import AgentsInside
from toolgate_langchain.hosts.langgraph import enforcing, middleware
from toolgate_langchain.hosts.langgraph.behind import Behind
from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware
from toolgate_langchain.policy import decide as decide_module
from toolgate_langchain.policy.approval_rule import ApprovalNeed
from toolgate_langchain.policy.context import RunMemory
from toolgate_langchain.policy.decision import Decision
from toolgate_langchain.testing import ControlOutcome, Outcome, Report, Setup
from toolgate_langchain.testing.agents import AgentHost

Patch = pytest.MonkeyPatch
GateMaker = Callable[[], ToolGate]


def told(report: Report, *names: str) -> None:
    """Every one of the attacks got through on every host that it was made on."""
    through = {(one.attack, one.host) for one in report.let_through}
    made = {(one.attack, one.host) for one in report.findings if one.outcome is not Outcome.NOT_APPLICABLE}
    assert through == made, report.text()
    assert {attack for attack, _ in through} == set(names)


# --- who decides --------------------------------------------------------------------------------


class NeedsNobody(ApprovalRule):
    def need(self, *_: Any, **__: Any) -> ApprovalNeed:
        return ApprovalNeed(needed=False, reason="whatever")


def test_an_approval_rule_that_needs_nobody() -> None:
    names = ("words-beside-a-call", "typed-yes", "double-click", "subagent-unasked", "flood-of-requests")
    told(tried(lambda: plain_gate(approval_rule=NeedsNobody()), *names), *names)


def test_a_decision_that_allows_everything_it_knows(monkeypatch: Patch) -> None:
    real = decide_module.decide

    def lenient(call: Any, *more: Any) -> Decision:
        decision = real(call, *more)
        known = call.entry is not None and call.arguments is not None
        return replace(decision, verdict=Verdict.ALLOW) if known else decision

    for module in (judge, last_look, taken):
        monkeypatch.setattr(module, "decide", lenient)
    names = ("words-beside-a-call", "what-the-model-learns", "switched-off-while-a-sibling-waits")
    told(tried(plain_gate, *names), *names)


def test_a_gate_that_explains_something_else_than_it_decides(monkeypatch: Patch) -> None:
    monkeypatch.setattr(deciding, "explain", lambda *more: replace(decide_module.explain(*more), code="fine"))
    told(tried(plain_gate, "explain-and-decide"), "explain-and-decide")


def test_switches_that_switch_nothing(monkeypatch: Patch) -> None:
    monkeypatch.setattr(ToolCatalog, "is_enabled", lambda *_: True)
    names = (
        "switched-off-after-the-answer", "switched-off-while-a-sibling-waits", "operator-against-all",
        "switched-off-and-remembered",
    )  # fmt: skip
    told(tried(plain_gate, *names), *names)


# --- the ledger ---------------------------------------------------------------------------------


class Broken(InMemoryLedger):
    """A ledger with some of its answers replaced."""

    def __init__(self, answers: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__()
        for name, function in answers.items():
            setattr(self, name, function)


def with_ledger(**answers: Callable[..., Any]) -> GateMaker:
    return lambda: plain_gate(ledger=Broken(answers))


def test_a_ledger_that_always_says_quiet() -> None:
    told(tried(with_ledger(quiet=lambda *_: True), "stopped-before"), "stopped-before")


def test_a_ledger_that_starts_everything_again() -> None:
    starts = with_ledger(start=lambda _: StartStatus.STARTED, end=lambda _: True)
    names = ("crash-and-retry", "replay")
    told(tried(starts, *names), *names)
    assert tried(starts, "backup").ok  # the answer itself is another worker's
    forgets = with_ledger(
        start=lambda _: StartStatus.STARTED,
        end=lambda _: True,
        claim=lambda *_, **__: True,
        renew=lambda *_, **__: True,
    )
    told(tried(forgets, "backup"), "backup")
    told(tried(starts, "replay-unasked", surfaces=["cron"]), "replay-unasked")


def test_a_ledger_that_knows_no_missing_grant() -> None:
    starts = with_ledger(start=lambda _: StartStatus.STARTED, end=lambda _: True)
    assert tried(starts, "double-click", "surplus-answer").ok  # what the state alone holds back


def test_a_ledger_that_never_stops() -> None:
    names = ("stopped-before", "stopped-after-the-answer", "stopped-while-a-sibling-waits")
    never = with_ledger(stopped=lambda: False, quiet=lambda *_: True)
    told(tried(never, *names), *names)


def test_a_ledger_that_takes_nothing_back() -> None:
    def first_holds(*_: Any, **__: Any) -> AnswerStatus:
        return AnswerStatus.REPEATED

    keeps = with_ledger(answer=first_holds, answer_to=lambda _: None, asked=lambda _: None)
    assert tried(keeps, "taken-back-after-the-answer").ok  # the queue itself holds a rejection


def test_a_ledger_that_forgets_what_was_rejected() -> None:
    forgets = with_ledger(memory=lambda _: RunMemory())
    told(tried(forgets, "rejected-and-proposed-again"), "rejected-and-proposed-again")


# --- answers ------------------------------------------------------------------------------------


def test_answers_that_count_by_their_position(monkeypatch: Patch) -> None:
    monkeypatch.setattr(ApprovalQueue, "_for_this", lambda _, given, request: given)
    names = (
        "surplus-answer", "request-for-other-arguments", "request-of-another-thread", "request-of-another-user",
        "answer-without-an-id",
    )  # fmt: skip
    told(tried(plain_gate, *names), *names)


def test_a_list_of_answers_of_which_the_first_counts(monkeypatch: Patch) -> None:
    real = answer.read_answer

    def first(value: Any, request: Any = None) -> Any:
        if isinstance(value, dict) and "decisions" in value:
            value = value["decisions"]
        return real(value[0] if isinstance(value, list) else value, request)

    def by_position(_: Any, given: Any, request: Any) -> Any:
        return replace(given, request_id=request.request_id)

    monkeypatch.setattr(queue, "read_answer", first)
    monkeypatch.setattr(ApprovalQueue, "_for_this", by_position)
    told(tried(plain_gate, "answers-in-a-list"), "answers-in-a-list")


def test_a_rejection_that_comes_too_late_for_its_queue(monkeypatch: Patch) -> None:
    def changes_nothing(*_: Any) -> Any:
        yield lambda: None
        return "was already answered"

    monkeypatch.setattr(ApprovalQueue, "_for_another", changes_nothing)
    names = ("taken-back-after-the-answer", "wrong-order")
    told(tried(plain_gate, *names), *names)


# --- the last step ------------------------------------------------------------------------------


def test_no_last_step_at_all(monkeypatch: Patch) -> None:
    async def arun(_: Any, request: Any, handler: Any) -> Any:
        return await handler(request)

    monkeypatch.setattr(ToolGateMiddleware, "wrap_tool_call", lambda _, request, handler: handler(request))
    monkeypatch.setattr(ToolGateMiddleware, "awrap_tool_call", arun)
    names = (
        "rewritten-arguments", "swapped-tool", "fork", "replay", "stopped-after-the-answer",
        "switched-off-while-a-sibling-waits", "typed-yes", "tool-writes-the-gates-state",
    )  # fmt: skip
    report = tried(plain_gate, *names)
    # A new message withdraws what waits, so that a typed "yes" leaves nothing to run.
    assert {one.attack for one in report.let_through} == set(names) - {"typed-yes"}, report.text()


def test_calls_and_grants_that_are_bound_to_nothing(monkeypatch: Patch) -> None:
    for module in (judged_record, taken, claiming):
        monkeypatch.setattr(module, "call_digest", lambda *_: "same")
    for module in (judged_record, last_step, last_look, changed):
        monkeypatch.setattr(module, "raw_digest", lambda _: "same")
    told(tried(plain_gate, "rewritten-arguments"), "rewritten-arguments")


def test_middleware_behind_the_gate_that_nobody_minds(monkeypatch: Patch) -> None:
    monkeypatch.setattr(middleware, "check_innermost", lambda _: None)
    assert tried(plain_gate, "tool-retry").ok  # the look before the run
    monkeypatch.setattr(Behind, "check", lambda _: None)
    names = ("rewritten-arguments", "swapped-tool", "tool-retry")
    told(tried(plain_gate, *names), *names)


def test_commands_that_write_whatever_they_want(monkeypatch: Patch) -> None:
    monkeypatch.setattr(middleware, "own_result", lambda _, result: result)
    monkeypatch.setattr(enforcing, "finished", lambda _, __, result: result)
    told(tried(plain_gate, "tool-writes-the-gates-state"), "tool-writes-the-gates-state")


# --- what is shown and remembered ---------------------------------------------------------------


def test_text_that_is_shown_as_it_is(monkeypatch: Patch) -> None:
    def plain(text: str, **_: Any) -> Shown:
        return Shown(text)

    for module in (shown, request, beside, asking):
        monkeypatch.setattr(module, "show_text", plain)
    monkeypatch.setattr(shown, "_show_name", plain)
    names = ("hidden-in-an-argument", "hidden-in-a-tools-name", "hidden-in-a-subagents-name", "tail-out-of-sight")
    told(tried(plain_gate, *names), *names)


def test_hidden_characters_without_a_warning(monkeypatch: Patch) -> None:
    monkeypatch.setattr(judge, "misleading", lambda *_: ())
    names = (
        "hidden-in-an-argument", "tail-out-of-sight", "sibling-with-hidden-characters", "hidden-in-a-subagents-name",
    )  # fmt: skip
    told(tried(plain_gate, *names), *names)


def test_rules_that_reach_everywhere(monkeypatch: Patch) -> None:
    monkeypatch.setattr(RuleView, "_reaches", lambda *_: True)
    told(tried(plain_gate, "rule-for-another-user"), "rule-for-another-user")
    report = tried(ToolGate, "rule-on-another-surface")
    told(report, "rule-on-another-surface")


def test_rules_that_outlive_their_tool(monkeypatch: Patch) -> None:
    monkeypatch.setattr(rules.StandingRule, "holds_for", lambda *_: True)
    told(tried(plain_gate, "definition-changed"), "definition-changed")


def test_rules_that_match_whatever_the_arguments(monkeypatch: Patch) -> None:
    monkeypatch.setattr(rules, "canonical_json", lambda _: "{}")
    told(tried(plain_gate, "rule-for-other-arguments"), "rule-for-other-arguments")


def test_a_model_that_is_told_the_reasons(monkeypatch: Patch) -> None:
    monkeypatch.setattr(refusal, "what_the_model_is_told", lambda _, reason: reason)
    told(tried(plain_gate, "what-the-model-learns"), "what-the-model-learns")


# --- what tools and servers say -----------------------------------------------------------------


def test_hints_that_are_believed(monkeypatch: Patch) -> None:
    real = hints.tier_from_hints
    monkeypatch.setattr(entry, "tier_from_hints", lambda tier, said, trusted: real(tier, said, trusted=True))
    told(tried(plain_gate, "hint-read-only"), "hint-read-only")


def test_hints_that_raise_nothing(monkeypatch: Patch) -> None:
    monkeypatch.setattr(entry, "tier_from_hints", lambda tier, *_, **__: tier)
    told(tried(plain_gate, "hint-destructive"), "hint-destructive")


def test_claims_that_nobody_reports(monkeypatch: Patch) -> None:
    monkeypatch.setattr(intake, "claims_own_profile", lambda _: False)
    names = ("profile-as-plain-data", "profile-as-object")
    told(tried(plain_gate, *names), *names)


def test_plain_data_that_counts_as_a_profile(monkeypatch: Patch) -> None:
    def read(tool: Any) -> ToolProfile | None:
        carried = (tool.metadata or {}).get(METADATA_KEY)
        return ToolProfile(**carried) if isinstance(carried, dict) else carried

    monkeypatch.setattr(meeting, "profile_of", read)
    told(tried(plain_gate, "own-tool-with-plain-profile"), "own-tool-with-plain-profile")


def test_servers_whose_names_nobody_compares(monkeypatch: Patch) -> None:
    monkeypatch.setattr(remote_tools, "looks_like", lambda *_: None)
    told(tried(plain_gate, "servers-that-read-alike"), "servers-that-read-alike")


def test_arguments_that_the_model_may_inject(monkeypatch: Patch) -> None:
    monkeypatch.setattr(arguments, "injected_names", lambda _: frozenset())
    told(tried(plain_gate, "injected-argument"), "injected-argument")


def test_a_model_whose_own_tools_nobody_looks_at(monkeypatch: Patch) -> None:
    for name in ("_check_bound", "check_bound"):
        monkeypatch.setattr(Offering, name, lambda *_: None, raising=False)
    told(tried(plain_gate, "tools-bound-beforehand"), "tools-bound-beforehand")


# --- hosts --------------------------------------------------------------------------------------


class UngatedInside(AgentHost):
    """A host that forgets the gate in an agent that is a tool."""

    def as_tool(self, name: str, setup: Setup) -> Any:
        ungated = AgentHost(self.name, lambda *_: [], asynchronous=self.asynchronous)
        return ungated.as_tool(name, setup)


def test_a_subagent_without_the_gate(monkeypatch: Patch) -> None:
    monkeypatch.setattr(AgentsInside, "check", lambda *_, **__: None)
    (host,) = hosts_of(FORMS[0])
    assert isinstance(host, AgentHost)
    broken = UngatedInside(host.name, host._place, asynchronous=False)
    names = (
        "subagent-unasked", "subagents-own-definition", "subagent-where-nobody-is", "subagent-on-a-milder-surface",
        "one-approval-many-calls",
    )  # fmt: skip
    report = tried(plain_gate, *names, hosts=[broken], surfaces=["chat", "cron"])
    told(report, *names)


def test_an_agent_without_the_gate() -> None:
    ungated = AgentHost("no gate", lambda _, others, __: list(others), asynchronous=False)
    report = tried(plain_gate, hosts=[ungated], surfaces=["chat", "cron"])
    caught = {one.attack for one in report.caught}
    through = {one.attack for one in report.let_through}
    assert through - {"subagent-unasked"} and not report.refused_by_mistake, report.text()
    # What needs no agent.
    assert caught - through == {"servers-that-read-alike", "operator-against-all", "explain-and-decide"}, report.text()


def test_a_host_that_raises_is_told_as_broken_and_never_as_caught() -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no agent today")

    report = tried(plain_gate, "words-beside-a-call", hosts=[AgentHost("fails", fails, asynchronous=False)])
    (finding,) = report.findings
    assert (finding.outcome, finding.control) == (Outcome.BROKE, ControlOutcome.REFUSED_BY_MISTAKE)
    assert "no agent today" in finding.why
    assert not report.ok
    assert "Broke, so that nothing is known:" in report.text()
