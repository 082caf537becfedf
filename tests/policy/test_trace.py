"""What a decision says besides its verdict: each row of the trace in words, and whether a person was called for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from toolgate_langchain import StandingRule, Surface, Tier, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.policy.arguments import ArgumentPolicy, ArgumentView, PolicyAnswer
from toolgate_langchain.policy.context import CallFacts, RunMemory
from toolgate_langchain.policy.decide import call_key
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.vocabulary import Verdict

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
FORM = {"type": "object", "properties": {"to": {"type": "string"}}}


@tool
def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


def asks(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK, "look at it")


def asks_too(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK, "and at this")


def agrees(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ALLOW, "fine")


def denies(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.DENY, "no")


def gate_with(*policies: ArgumentPolicy, a_tool: BaseTool = send, **profile: Any) -> ToolGate:
    catalog = ToolCatalog()
    catalog.register(a_tool, ToolProfile(**{"tier": Tier.CONSEQUENTIAL, **profile}))
    surfaces = [Surface("chat"), Surface("cron", attended=False, consequential=Verdict.ALLOW)]
    return ToolGate(catalog, surfaces=surfaces, argument_policies=policies)


CALL = {"name": "send", "args": {"to": "ann"}}


def decided(gate: ToolGate, *, surface: str = "chat", **given: Any) -> Decision:
    """What `decide` says, which `explain` says too."""
    decision = gate.decide(CALL, surface=surface, **given)
    explained = gate.explain(CALL, surface=surface, **given)
    assert (explained.verdict, explained.code, explained.reason) == (decision.verdict, decision.code, decision.reason)
    assert (explained.must_ask, explained.needs_person) == (decision.must_ask, decision.needs_person)
    return decision


def rows(gate: ToolGate, **given: Any) -> dict[Layer, tuple[Verdict | None, str, str]]:
    """The trace of `explain`: layer by layer the verdict, the code and the reason."""
    trace = gate.explain(CALL, surface="chat", **given).trace
    assert [row.layer for row in trace] == list(Layer)
    return {row.layer: (row.verdict, row.code, row.reason) for row in trace}


def allow(gate: ToolGate, effect: Any = "allow") -> list[StandingRule]:
    entry = gate.catalog.get("send")
    assert entry is not None
    return [
        StandingRule(
            tool_name="send", effect=effect, fingerprint=entry.fingerprint, tier=entry.tier, surface="chat",
            created_at=NOW,
        )
    ]  # fmt: skip


class TestTheTrace:
    def test_each_row_that_a_call_passes_says_why_and_the_rows_behind_the_last_were_not_reached(self) -> None:
        assert rows(gate_with()) == {
            Layer.SWITCH: (None, "", "releases are not stopped"),
            Layer.IDENTITY: (None, "", "a tool of this agent, and its arguments fit"),
            Layer.GATES: (None, "", "it may take part in this run"),
            Layer.ARGUMENT_POLICIES: (None, "", "no objection"),
            Layer.STANDING_DENIES: (None, "", "nobody said never, nor rejected it in this run"),
            Layer.APPROVAL_RULE: (Verdict.ASK, "", "surface 'chat' answers 'ask' for consequential tools"),
            Layer.STANDING_ALLOWS: (None, "", "no rule matches"),
            Layer.HEURISTICS: (None, "", "heuristics not run"),
            Layer.SURFACE: (
                Verdict.ASK, Code.APPROVAL_REQUIRED, "surface 'chat' answers 'ask' for consequential tools",
            ),
        }  # fmt: skip

    def test_the_switch_ends_it_at_the_first_row(self) -> None:
        said = rows(gate_with(), facts=CallFacts(stopped=True))
        assert said.pop(Layer.SWITCH) == (Verdict.DENY, Code.STOPPED, "all releases are stopped")
        assert set(said.values()) == {(None, "", "not reached")}

    def test_where_no_heuristic_outcome_was_handed_in_it_says_heuristics_not_run(self) -> None:
        assert rows(gate_with())[Layer.HEURISTICS] == (None, "", "heuristics not run")
        assert rows(gate_with(), facts=CallFacts(heuristics_run=True))[Layer.HEURISTICS] == (None, "", "none said yes")
        assert rows(gate_with(), facts=CallFacts(heuristic="safe", heuristics_run=True))[Layer.HEURISTICS] == (
            Verdict.ALLOW, "heuristic:safe", "heuristic 'safe' said yes",
        )  # fmt: skip

    def test_a_policy_that_asks_is_named_there_and_as_the_reason_of_the_request(self) -> None:
        """On a tool that the rule lets run: nothing but the policy calls for a person then."""
        said = rows(gate_with(agrees, asks, asks_too, tier=Tier.READ_ONLY))
        assert said[Layer.ARGUMENT_POLICIES] == (Verdict.ASK, "", "asks: look at it")
        assert said[Layer.APPROVAL_RULE] == (Verdict.ASK, "", "asks: look at it")
        assert said[Layer.SURFACE] == (Verdict.ASK, Code.APPROVAL_REQUIRED, "asks: look at it")

    def test_where_the_rule_calls_for_a_person_too_its_reason_is_the_requests(self) -> None:
        said = rows(gate_with(asks, requires_approval=True))
        assert said[Layer.APPROVAL_RULE] == (Verdict.ASK, "", "it is marked as requiring approval")
        assert said[Layer.SURFACE][2] == "it is marked as requiring approval"

    @pytest.mark.parametrize(
        ("policies", "profile", "facts", "why"),
        [
            ([asks], {}, CallFacts(), "an argument policy says that a person must see it"),
            ([], {"input_schema": FORM}, CallFacts(), "only a person can fill in its input"),
            ([], {}, CallFacts(warnings=("hidden",)), "it is shown with warnings"),
            ([], {}, CallFacts(variant=True), "it is a variant of a call that was rejected"),
            ([], {}, CallFacts(at_cap=True), "the run has used up its auto-approved turns"),
        ],
    )
    def test_what_keeps_rules_and_heuristics_from_releasing_is_the_reason_of_both_rows(
        self, policies: list[ArgumentPolicy], profile: dict[str, Any], facts: CallFacts, why: str
    ) -> None:
        gate = gate_with(*policies, **profile)
        said = rows(gate, facts=facts, rules=allow(gate), now=NOW)
        assert said[Layer.STANDING_ALLOWS] == said[Layer.HEURISTICS] == (None, "", why)
        assert said[Layer.SURFACE][0] is Verdict.ASK


class TestWhetherAPersonWasCalledFor:
    """`needs_person` and `must_ask`: what a turn is saved for, and what no memory may release."""

    def test_by_the_rule_whoever_released_it_then(self) -> None:
        gate = gate_with()
        for given in (
            {},
            {"rules": allow(gate), "now": NOW},
            {"facts": CallFacts(heuristic="safe", heuristics_run=True)},
        ):
            decision = decided(gate, **given)
            assert (decision.needs_person, decision.must_ask) == (True, False)

    def test_by_a_policy(self) -> None:
        decision = decided(gate_with(asks, tier=Tier.READ_ONLY))
        assert (decision.verdict, decision.needs_person, decision.must_ask) == (Verdict.ASK, True, True)

    def test_by_a_policy_that_asked_before_another_denied(self) -> None:
        decision = decided(gate_with(asks, denies))
        assert (decision.code, decision.needs_person, decision.must_ask) == (Code.ARGUMENT_POLICY, True, True)

    def test_by_a_policy_before_somebodys_never(self) -> None:
        gate = gate_with(asks)
        decision = decided(gate, rules=allow(gate, "deny"), now=NOW)
        assert (decision.code, decision.needs_person, decision.must_ask) == (Code.STANDING_DENY, True, True)

    def test_by_a_policy_where_nobody_is_there(self) -> None:
        decision = decided(gate_with(asks), surface="cron")
        assert (decision.code, decision.needs_person, decision.must_ask) == (Code.UNATTENDED, True, True)
        assert decision.reason == "nobody is there on surface 'cron': asks: look at it"

    def test_by_nobody_where_the_call_is_free_or_was_denied_before_it_came_to_that(self) -> None:
        for decision in (
            decided(gate_with(tier=Tier.READ_ONLY)),
            decided(gate_with(denies)),
            decided(gate_with(denies, asks)),
            decided(gate_with(), facts=CallFacts(stopped=True)),
            decided(gate_with(), memory=RunMemory(rejections={"send": 3})),
        ):
            assert (decision.needs_person, decision.must_ask) == (False, False)


class TestReasons:
    def test_a_rejection_a_replacement_and_three_rejections_are_told_apart(self) -> None:
        gate = gate_with()
        entry = gate.catalog.get("send")
        assert entry is not None
        key = call_key(entry, CALL["args"])  # type: ignore[arg-type]
        for memory, code, reason in (
            (RunMemory(rejected=frozenset({key})), Code.REJECTED, "a person rejected this very call in this run"),
            (
                RunMemory(replaced=frozenset({key})),
                Code.REPLACED,
                "a person replaced this very call by another in this run",
            ),
            (RunMemory(rejections={"send": 4}), Code.REJECTED_TOOL, "people rejected this tool 4 times in this run"),
        ):
            decision = decided(gate, memory=memory)
            assert (decision.verdict, decision.code, decision.reason) == (Verdict.DENY, code, reason)

    def test_a_call_with_typed_input_is_asked_about_as_such(self) -> None:
        decision = decided(gate_with(input_schema=FORM))
        assert (decision.verdict, decision.code) == (Verdict.ASK, Code.INPUT_REQUIRED)
        assert decision.reason == "a person fills in its input"

    def test_what_does_not_fit_says_what_does_not_fit(self) -> None:
        decision = gate_with().decide({"name": "send", "args": {}}, surface="chat")
        assert decision.code == Code.INVALID_ARGUMENTS
        assert "to" in decision.reason


class TestArgumentPolicies:
    """What a policy is given, and what becomes of what it says."""

    def test_it_sees_the_effective_arguments_the_tool_the_surface_and_the_caller(self) -> None:
        seen: list[ArgumentView] = []

        def looks(view: ArgumentView) -> PolicyAnswer:
            seen.append(view)
            return PolicyAnswer(Verdict.ALLOW)

        gate = gate_with(looks)
        decided(gate)
        for view in seen:
            assert (view.name, view.arguments, view.caller) == ("send", {"to": "ann"}, None)
            assert view.entry is gate.catalog.get("send")
            assert view.surface == gate.surface("chat")

    def test_what_it_does_to_its_arguments_changes_neither_the_call_nor_what_the_next_one_sees(self) -> None:
        seen: list[Any] = []

        def writes(view: ArgumentView) -> PolicyAnswer:
            seen.append(list(view.arguments["to"]))
            view.arguments["to"].append("eve")
            return PolicyAnswer(Verdict.ALLOW)

        @tool
        def send(to: list[str]) -> str:
            """Send."""
            return f"sent to {to}"

        given = {"name": "send", "args": {"to": ["ann"]}}
        gate = gate_with(writes, writes, a_tool=send)
        assert gate.decide(given, surface="chat").verdict is Verdict.ASK
        assert seen == [["ann"], ["ann"]]
        assert given["args"] == {"to": ["ann"]}

    @pytest.mark.parametrize("said", [None, True, Verdict.ALLOW, "allow", PolicyAnswer("allow")])  # type: ignore[arg-type]
    def test_anything_but_an_answer_denies_and_says_so(self, said: Any) -> None:
        def odd(_: ArgumentView) -> Any:
            return said

        decision = decided(gate_with(odd))
        assert (decision.code, decision.verdict) == (Code.ARGUMENT_POLICY, Verdict.DENY)
        assert decision.reason == f"odd returned {said!r}, which is not a PolicyAnswer"

    def test_one_that_raises_denies_and_names_the_policy_and_the_error(self) -> None:
        class Careful:
            def __call__(self, _: ArgumentView) -> PolicyAnswer:
                raise LookupError("no such host")

        assert decided(gate_with(Careful())).reason == "Careful raised LookupError: no such host"

    @pytest.mark.parametrize(
        ("policy", "reason"), [(denies, "denies: no"), (lambda _: PolicyAnswer(Verdict.DENY), "<lambda>")]
    )
    def test_the_reason_names_the_policy(self, policy: Callable[[ArgumentView], PolicyAnswer], reason: str) -> None:
        assert decided(gate_with(policy)).reason == reason
