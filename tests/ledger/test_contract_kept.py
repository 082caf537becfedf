"""What every ledger keeps and gives back as it was: answers, requests and standing rules, sync and async."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, InMemoryLedger, Remember, StandingRule, Tier
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import GrantStatus, PendingRequest, StartStatus
from toolgate_langchain.canonical import canonical_json

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
YES, NO = ApprovalAnswer(type="approve"), ApprovalAnswer(type="reject")

ANSWERS = [
    ApprovalAnswer(type="approve", request_id="r", by="ann", remember=Remember("arguments", "run", expires_in=60)),
    ApprovalAnswer(type="reject", message="no\x00, \u2028 nein \U0001f600 'quoted' %s {}", remember=Remember("tool")),
    ApprovalAnswer(type="respond", message=""),
    ApprovalAnswer(
        type="edit", edited_name="send", edited_arguments={"b": [1, 1.0, "1", True, None], "a": {"c": -0.0}}
    ),
    ApprovalAnswer(type="edit", edited_arguments={}),
    ApprovalAnswer(type="approve", input={"n": 2**63 - 1, "m": -(2**63), "e": 1e300}),
]


def a_rule(**changes: Any) -> StandingRule:
    fields: dict[str, Any] = {"tool_name": "send", "fingerprint": "f", "surface": "chat", "created_at": NOW}
    return StandingRule(**{**fields, **changes})


class TestAnswers:
    @pytest.mark.parametrize("answer", ANSWERS, ids=[f"{n}-{one.type}" for n, one in enumerate(ANSWERS)])
    def test_an_answer_is_given_back_as_it_was(self, ledger: InMemoryLedger, answer: ApprovalAnswer) -> None:
        assert ledger.answer_to("r") is None
        ledger.answer("r", answer)
        held = ledger.answer_to("r")
        assert held is not None and held == answer
        # Equal to Python are also 1, 1.0 and true, and 0.0 and -0.0.
        assert canonical_json(held.to_json()) == canonical_json(answer.to_json())

    def test_a_time_is_given_back_as_it_was_wherever_its_zone_is(self, ledger: InMemoryLedger) -> None:
        at = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-5)))
        ledger.answer("r", YES, at=at)
        assert ledger.answered_at("r") == at

    def test_a_grant_that_is_issued_after_a_rejection_releases_nothing(self, ledger: InMemoryLedger) -> None:
        """A rejection either is seen where the grant is issued, or finds the grant."""
        ledger.answer("r", YES)
        ledger.answer("r", NO)
        ledger.grant("r", "digest")
        assert ledger.status("r") is GrantStatus.WITHDRAWN
        assert ledger.start(CallStart("r", "digest", needs_grant=True, repeatable=True)) is StartStatus.WITHDRAWN


class TestRequests:
    def test_what_is_asked_is_pending_until_it_is_answered(self, ledger: InMemoryLedger) -> None:
        for number, thread in enumerate(["one", None, "two"]):
            ledger.ask(request(request_id=f"r{number}"), thread_id=thread, at=NOW - timedelta(seconds=number))
        assert [one.request.request_id for one in ledger.pending()] == ["r2", "r1", "r0"]
        assert [one.request.request_id for one in ledger.pending(limit=1)] == ["r2"]
        ledger.answer("r1", YES)
        ledger.withdraw(["r2"])
        ends = datetime(2999, 1, 1, tzinfo=UTC)
        ledger.ask(request(request_id="r9"), thread_id="three", at=NOW, expires_at=ends)
        assert list(ledger.pending()) == [
            PendingRequest(request(request_id="r0"), "one", NOW),
            PendingRequest(request(request_id="r9"), "three", NOW, ends),
        ]

    def test_what_nobody_answered_in_time_is_not_pending(self, ledger: InMemoryLedger) -> None:
        ledger.ask(request(), at=NOW - timedelta(hours=1), expires_at=datetime.now(UTC))
        assert list(ledger.pending()) == []

    def test_asked_again_only_what_is_shown_changes(self, ledger: InMemoryLedger) -> None:
        ledger.ask(request(), thread_id="one", at=NOW)
        ledger.ask(request(error="not a yes"), thread_id="two", at=NOW + timedelta(hours=1))
        assert list(ledger.pending()) == [PendingRequest(request(error="not a yes"), "one", NOW)]

    @pytest.mark.parametrize("how", ["answered", "withdrawn"])
    def test_what_was_settled_before_it_is_asked_is_not_pending(self, ledger: InMemoryLedger, how: str) -> None:
        """As where a node is replayed."""
        ledger.answer("r1", YES) if how == "answered" else ledger.withdraw(["r1"])
        ledger.ask(request(), at=NOW)
        assert list(ledger.pending()) == []


class TestRulesOfAThread:
    def test_a_rule_is_given_back_as_it_was_on_its_own_thread(self, ledger: InMemoryLedger) -> None:
        rules = [
            a_rule(arguments={"n": 1.0, "to": ["ann"]}, tier=Tier.ROUTINE, agent_path=("root", "sub"), run_id="run"),
            a_rule(arguments={}, effect="deny", scope="run", origin="mcp:files", caller="ann", request_id="r"),
            a_rule(created_by="bob", expires_at=NOW + timedelta(days=1)),
        ]
        for rule in rules:
            ledger.add_thread_rule("thread", rule)
        assert list(ledger.thread_rules("thread")) == rules
        assert list(ledger.thread_rules("another")) == []

    def test_the_same_remember_twice_is_one_rule_and_the_later_one_stays(self, ledger: InMemoryLedger) -> None:
        first, other = a_rule(request_id="a"), a_rule(arguments={})
        later = a_rule(request_id="b", created_at=NOW + timedelta(hours=1), expires_at=NOW + timedelta(days=1))
        for rule in (first, other, later):
            ledger.add_thread_rule("thread", rule)
        assert list(ledger.thread_rules("thread")) == [other, later]

    @pytest.mark.parametrize("arguments", [{"n": 1.0}, {"n": "1"}, {"n": True}, {"n": 1, "m": None}, {}, None])
    def test_rules_that_differ_in_their_arguments_are_two(self, ledger: InMemoryLedger, arguments: Any) -> None:
        rules = [a_rule(arguments={"n": 1}), a_rule(arguments=arguments)]
        for rule in rules:
            ledger.add_thread_rule("thread", rule)
        kept = [canonical_json(rule.arguments) for rule in ledger.thread_rules("thread")]
        assert kept == [canonical_json(rule.arguments) for rule in rules]
        ledger.drop_thread_rules("thread", rules[:1])
        assert list(ledger.thread_rules("thread")) == rules[1:]

    def test_dropping_forgets_what_is_the_same_on_that_thread_alone(self, ledger: InMemoryLedger) -> None:
        for thread in ("one", "two"):
            ledger.add_thread_rule(thread, a_rule(request_id="a"))
        ledger.drop_thread_rules("one", [a_rule(request_id="b"), a_rule(request_id="c"), a_rule(arguments={"n": 2})])
        assert (list(ledger.thread_rules("one")), len(ledger.thread_rules("two"))) == ([], 1)
        ledger.drop_thread_rules("two", [])
        assert len(ledger.thread_rules("two")) == 1

    def test_a_rejection_that_takes_an_approval_back_takes_its_rules_on_every_thread(
        self, ledger: InMemoryLedger
    ) -> None:
        ledger.answer("r", YES, thread_id="one")
        for thread, made_by in (("one", "r"), ("two", "r"), ("one", "other")):
            ledger.add_thread_rule(thread, a_rule(request_id=made_by, arguments={"by": made_by}))
        ledger.answer("r", NO)
        assert [rule.request_id for rule in ledger.thread_rules("one")] == ["other"]
        assert list(ledger.thread_rules("two")) == []
