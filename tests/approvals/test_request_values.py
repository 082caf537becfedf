"""A request as the value of an interrupt: read back as it was, and never made of what is only nearly one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.approvals.test_judge import Bench
from tests.ui.requests import EXACTLY, THE_TOOL, request
from toolgate_langchain import ApprovalRequest
from toolgate_langchain.approvals.request import is_approval_interrupt
from toolgate_langchain.errors import InvalidAnswerError
from toolgate_langchain.policy.context import CallFacts

FULL = request(
    caller="ann", remember=(EXACTLY, THE_TOOL), warnings=("w",), notes=("n",), preview="it would",
    agent_path=("a", "b"), args_schema={"type": "object"}, allowed=("approve", "reject"), hint="h", error="e",
    position=2, of=3, expires_at=datetime(2026, 1, 2, tzinfo=UTC),
)  # fmt: skip


@pytest.mark.parametrize(
    "asked",
    [
        request(),
        FULL,
        replace(FULL, args_schema=None, input_schema={"type": "object", "properties": {"pin": {}}}),
        request(kind="outcome", allowed=("try_again", "done", "failed", "reject")),
    ],
    ids=["bare", "full", "typed input", "outcome"],
)
def test_it_comes_back_from_json_text_as_it_was(asked: ApprovalRequest) -> None:
    assert ApprovalRequest.from_interrupt(json.loads(json.dumps(asked.to_interrupt()))) == asked


def without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda value: {name: item for name, item in value.items() if name != key}


def changed(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda value: {**value, **fields}


@pytest.mark.parametrize(
    "damage",
    [
        lambda value: [value], json.dumps, lambda _: None, without("reason"), changed(reason="approval"),
        without("toolgate"), changed(toolgate="r1"), without("action_requests"), changed(action_requests=None),
        changed(action_requests=[]), changed(action_requests=[{}, {}]), without("review_configs"),
        changed(review_configs=None), changed(review_configs=[{}, {}]),
    ],
)  # fmt: skip
def test_what_is_only_nearly_a_request_is_none(damage: Callable[[dict[str, Any]], Any]) -> None:
    value = damage(request().to_interrupt())
    assert is_approval_interrupt(value) is False
    with pytest.raises(InvalidAnswerError, match="not an approval request"):
        ApprovalRequest.from_interrupt(value)


def test_a_form_of_another_version_is_not_guessed_at() -> None:
    value = request().to_interrupt()
    value["toolgate"]["v"] = 2
    assert is_approval_interrupt(value)
    with pytest.raises(InvalidAnswerError, match="format 2; this version reads 1"):
        ApprovalRequest.from_interrupt(value)


def test_an_answer_that_names_no_request_is_to_the_one_that_was_shown_and_remembers_nothing() -> None:
    answer = request().answer_from({"type": "approve", "remember": "tool"})
    assert (answer.request_id, answer.remember) == ("r1", None)


def test_an_answer_that_names_one_keeps_what_it_says() -> None:
    answer = request().answer_from({"type": "approve", "request_id": "r2", "remember": "tool"})
    assert answer.request_id == "r2" and answer.remember is not None


class TestASavedHeuristic:
    """A yes that was saved with a turn counts only while the gate still has who gave it."""

    @staticmethod
    def careful(_: Any, __: Any) -> bool:
        return True

    @pytest.mark.parametrize(("name", "stays"), [("careful", "careful"), ("gone", None), (None, None)])
    def test_of_a_gate_that_has_one(self, name: str | None, stays: str | None) -> None:
        judge = Bench(heuristics=[self.careful]).gate.judge
        saved = CallFacts(heuristic=name, heuristics_run=True, predicate=False)
        assert judge.still_known(saved) == replace(saved, heuristic=stays)

    def test_of_a_gate_that_has_none_any_more(self) -> None:
        assert Bench().gate.judge.still_known(CallFacts(heuristic="careful")).heuristic is None


class TestWhatIsShown:
    def test_everything_that_there_is_to_say_is_said_in_full(self) -> None:
        assert FULL.description().splitlines() == [
            "Tool: send (routine, local)",
            "  to: ann",
            "It would do: it would",
            "Asked because: its tier is routine",
            "Surface: cli, for ann",
            "Agent: a > b",
            "Can be answered until 2026-01-02 00:00 UTC",
            "Warning: w",
            "Note: n",
            "h",
        ]

    def test_and_nothing_where_there_is_nothing(self) -> None:
        assert request(arguments={}).description().splitlines() == [
            "Tool: send (routine, local)",
            "Arguments: none",
            "Asked because: its tier is routine",
            "Surface: cli",
        ]

    @pytest.mark.parametrize(
        ("asked", "first"),
        [
            (request(), "Approval needed"),
            (request(position=1, of=2), "Approval needed (1 of 2)"),
            (request(kind="outcome"), "Outcome unknown"),
            (FULL, "e"),
        ],
        ids=["alone", "in a queue", "outcome", "after an error"],
    )
    def test_the_message_begins_with_what_is_wanted(self, asked: ApprovalRequest, first: str) -> None:
        message = asked.to_interrupt()["message"]
        assert message == f"{first}\n\n{asked.description()}"

    def test_screens_that_know_no_outcomes_offer_words_that_they_know(self) -> None:
        value = request(kind="outcome", allowed=("done", "reject")).to_interrupt()
        (review,) = value["review_configs"]
        assert review["allowed_decisions"] == review["allowedDecisions"] == ["respond", "reject"]
        assert value["toolgate"]["answers"] == ["done", "reject"]
