"""The shape of an answer: what cannot be read is asked again, three times, and never a yes."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.behaviours.answering import approve, give
from tests.support import Chat, Recorder, call, says
from toolgate_langchain import Tier, ToolProfile

ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)


MALFORMED: list[Any] = [
    {"approved": "true"},
    {"approved": 1},
    {"approved": True, "sure": True},
    "true",
    "approve",
    1,
    True,
    [True],
    [],
    {"type": "APPROVE"},
    {"type": "approve "},
    {"type": True},
    {"type": None},
    {"type": ["approve"]},
    {"decisions": []},
    {"decisions": {"type": "approve"}},
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    {"type": "approve", "edited_action": {"name": "send", "args": {}}},
    {"type": "edit"},
    {"type": "respond"},
    {"type": "approve", "remember": True},
    {"type": "approve", "remember": "everything"},
    {"type": "approve", "approved": True},
    {"type": "approve", "input": {}},
]


def addressed(malformed: Any, request_id: str) -> Any:
    """A malformed answer that at least names its request, where its shape has room for that."""
    if isinstance(malformed, dict) and "decisions" not in malformed:
        return {**malformed, "request_id": request_id}
    if isinstance(malformed, dict) and isinstance(malformed["decisions"], list):
        return {"decisions": [{**one, "request_id": request_id} for one in malformed["decisions"]]}
    return malformed


class TestAnAnswerWithTheWrongShape:
    """`approved: "true"`, `1`, `[true]`, `{"type": "APPROVE"}`, an empty list, two decisions for one request."""

    @pytest.mark.parametrize("malformed", MALFORMED, ids=repr)
    def test_asked_again_with_the_error_and_after_three_denied(
        self, start: Callable[..., Chat], ran: Recorder, malformed: Any
    ) -> None:
        talk = start(says(call("send", "s")), says(call("save", "t")))
        request_id = talk.request.request_id
        for left in ("2 more tries", "1 more try"):
            talk.resume(addressed(malformed, request_id))
            assert left in talk.request.error
            assert talk.request.request_id == request_id
        talk.resume(addressed(malformed, request_id))
        assert "No usable answer" in talk.result("s")
        assert ran.runs == []
        assert talk.request.tool_name == "save"  # the thread goes on

    @pytest.mark.parametrize("malformed", MALFORMED, ids=repr)
    def test_a_correct_answer_in_between_works(self, start: Callable[..., Chat], ran: Recorder, malformed: Any) -> None:
        talk = start(says(call("send", "s")))
        talk.resume(addressed(malformed, talk.request.request_id))
        talk.resume(addressed(malformed, talk.request.request_id))
        talk.answer("approve")
        assert (ran.count("send"), talk.result("s")) == (1, "ran send")

    @pytest.mark.parametrize("malformed", MALFORMED, ids=repr)
    def test_through_the_gate_it_is_invalid_or_asked_again_and_releases_nothing(
        self, start: Callable[..., Chat], ran: Recorder, malformed: Any
    ) -> None:
        talk = start(says(call("send", "s")))
        request_id = talk.request.request_id
        given = give(talk, addressed(malformed, request_id))
        assert given.status in ("invalid", "asked_again")
        assert given.detail
        assert (talk.request.request_id, ran.runs) == (request_id, [])

    def test_the_tries_are_counted_per_request(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)))
        talk.resume(1)
        talk.resume(1)
        talk.answer("approve")
        talk.resume(1)
        assert "2 more tries" in talk.request.error
        talk.answer("approve")
        assert ran.count("send") == 2

    def test_an_answer_that_names_no_request_is_asked_again(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        talk.resume({"type": "approve"})
        assert "names no request" in talk.request.error
        assert ran.runs == []
        assert give(talk, {"type": "approve"}).status == "invalid"

    def test_an_empty_resume_is_no_answer(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        talk.resume({})
        assert (talk.request.error, ran.runs) == ("", [])

    def test_the_shapes_of_a_decision_and_of_a_list_of_one_are_both_read(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "s")), says(call("send", "t")))
        talk.resume({"decisions": [approve(talk.request.request_id)]})
        talk.resume(approve(talk.request.request_id))
        assert ran.count("send") == 2
