"""Reading answers: exactly one decision in a known shape, and nothing is guessed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from toolgate_langchain import ApprovalAnswer, Remember
from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.errors import InvalidAnswerError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


class TestReading:
    @pytest.mark.parametrize(
        ("given_json", "read"),
        [
            ({"type": "approve", "request_id": "r"}, ApprovalAnswer(type="approve", request_id="r")),
            ({"decisions": [{"type": "reject"}]}, ApprovalAnswer(type="reject")),
            ({"type": "reject", "message": "no"}, ApprovalAnswer(type="reject", message="no")),
            ({"type": "respond", "message": ""}, ApprovalAnswer(type="respond", message="")),
            (
                {"type": "edit", "edited_action": {"name": "send", "args": {"n": 1}}},
                ApprovalAnswer(type="edit", edited_name="send", edited_arguments={"n": 1}),
            ),
            ({"type": "approve", "input": {}}, ApprovalAnswer(type="approve", input={})),
            ({"type": "approve", "remember": "tool"}, ApprovalAnswer(type="approve", remember=Remember("tool"))),
            (
                {"type": "reject", "remember": {"what": "arguments", "scope": "run", "expires_in": 60}},
                ApprovalAnswer(type="reject", remember=Remember("arguments", "run", 60)),
            ),
            ({"type": "approve", "remember": None, "by": "ann"}, ApprovalAnswer(type="approve", by="ann")),
        ],
        ids=repr,
    )
    def test_one_decision_bare_or_in_a_list(self, given_json: Any, read: ApprovalAnswer) -> None:
        assert read_answer(given_json) == read

    @pytest.mark.parametrize(
        "wrong",
        [
            None,
            True,
            1,
            "approve",
            [],
            [{"type": "approve"}],
            {},
            {"type": "APPROVE"},
            {"type": 1},
            {"approved": "true"},
            {"type": "approve", "request_id": 5},
            {"type": "approve", "sure": True},
            {"decisions": []},
            {"decisions": [{"type": "approve"}] * 2},
            {"decisions": [{"type": "approve"}], "request_id": "r"},
            {"decisions": [{"decisions": [{"type": "approve"}]}]},
            {"type": "edit"},
            {"type": "edit", "edited_action": {"name": "send"}},
            {"type": "edit", "edited_action": ["name", "args"]},
            {"type": "edit", "edited_action": "name"},
            {"type": "edit", "edited_action": {"name": 1, "args": {}}},
            {"type": "edit", "edited_action": {"name": "send", "args": []}},
            {"type": "edit", "edited_action": {"name": "send", "args": {}, "id": "x"}},
            {"type": "approve", "edited_action": {"name": "send", "args": {}}},
            {"type": "reject", "input": {}},
            {"type": "respond"},
            {"type": "respond", "message": "x", "remember": "tool"},
            {"type": "edit", "edited_action": {"name": "send", "args": {}}, "remember": "arguments"},
            {"type": "approve", "input": {}, "remember": "arguments"},
            {"type": "approve", "remember": True},
            {"type": "approve", "remember": "all"},
            {"type": "approve", "remember": {"what": "tool", "scope": "world"}},
            {"type": "approve", "remember": {"what": "tool", "for": "ever"}},
            {"type": "approve", "remember": {"scope": "run"}},
            {"type": "approve", "remember": {"what": "tool", "expires_in": 0}},
            {"type": "approve", "remember": {"what": "tool", "expires_in": -1}},
            {"type": "approve", "message": float("nan")},
            {"type": "approve", "by": "\ud800"},
            {1: "approve"},
            object,
        ],
        ids=repr,
    )
    def test_anything_else_is_an_error_in_words(self, wrong: Any) -> None:
        with pytest.raises(InvalidAnswerError) as raised:
            read_answer(wrong)
        assert str(raised.value)

    @pytest.mark.parametrize(
        ("wrong", "told"),
        [({"type": "aprove"}, "is 'aprove'"), ({"type": 1}, "is not a text"), ({"by": "ann"}, "is missing")],
    )
    def test_a_wrong_type_is_told_with_those_there_are(self, wrong: Any, told: str) -> None:
        with pytest.raises(InvalidAnswerError) as raised:
            read_answer(wrong)
        assert str(raised.value) == (
            f'"type" {told}; it must be one of approve, edit, reject, respond, or, where the outcome of a call '
            "is asked for, try_again, done, failed"
        )

    @given(JSON)
    def test_whatever_json_arrives_it_is_read_or_refused_and_never_a_yes_by_accident(self, value: Any) -> None:
        try:
            read = read_answer(value)
        except InvalidAnswerError:
            return
        decision = value["decisions"][0] if "decisions" in value else value
        assert read.type == decision["type"]
        assert type(decision["type"]) is str

    @given(
        st.builds(
            ApprovalAnswer,
            type=st.sampled_from(["approve", "reject"]),
            request_id=st.none() | st.text(max_size=8),
            message=st.none() | st.text(max_size=8),
            remember=st.none() | st.builds(Remember, st.sampled_from(["tool", "arguments"])),
            by=st.none() | st.text(max_size=8),
        )
    )
    def test_an_answer_survives_its_journey_as_json(self, answer: ApprovalAnswer) -> None:
        assert read_answer(answer.to_json()) == answer
        assert read_answer(answer) is answer

    @pytest.mark.parametrize(
        "answer",
        [
            ApprovalAnswer(type="edit", edited_name="send", edited_arguments={"n": 1}, by="ann"),
            ApprovalAnswer(type="approve", request_id="r", input={"code": "7"}),
            ApprovalAnswer(type="respond", message="done"),
            ApprovalAnswer(type="reject", remember=Remember("arguments", "user", 60.0)),
        ],
        ids=repr,
    )
    def test_so_does_what_a_person_wrote_in_it(self, answer: ApprovalAnswer) -> None:
        assert read_answer(json.loads(json.dumps(answer.to_json()))) == answer

    def test_whoever_sent_a_wrong_field_is_told_which_one(self) -> None:
        with pytest.raises(InvalidAnswerError, match=r"^request_id: "):
            read_answer({"type": "approve", "request_id": 5})
        with pytest.raises(InvalidAnswerError, match=r'^answer: .*"message"'):
            read_answer({"type": "respond"})


class TestMaking:
    @pytest.mark.parametrize(
        "fields",
        [
            {"type": "edit"},
            {"type": "respond"},
            {"type": "reject", "edited_arguments": {}},
            {"type": "approve", "edited_name": "send"},
            {"type": "approve", "request_id": 5},
            {"type": "allow"},
            {},
        ],
        ids=repr,
    )
    def test_fields_that_do_not_fit_the_type_are_refused(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            ApprovalAnswer(**fields)
