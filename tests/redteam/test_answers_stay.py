"""An answer counts for the call that it was given to, and for nobody else's."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, field_validator

from tests.support import Recorder, call, chat, says, with_profile
from toolgate_langchain import Caller, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.errors import InvalidAnswerError

SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)


def removes(existing: set[str], ran: list[str]) -> BaseTool:
    """A tool whose validator looks at the world, as those do that want a path to exist."""

    class Arguments(BaseModel):
        path: str

        @field_validator("path")
        @classmethod
        def _exists(cls, path: str) -> str:
            if path not in existing:
                raise ValueError("no such path")
            return path

    def rm(path: str) -> str:
        ran.append(path)
        return f"removed {path}"

    made = StructuredTool.from_function(rm, description="Remove.", args_schema=Arguments)
    return with_profile(made, SEND)


@pytest.mark.parametrize("vanishes", [True, False])
def test_an_answer_without_an_id_does_not_move_up_when_an_earlier_one_can_no_longer_be_used(vanishes: bool) -> None:
    existing, ran = {"/all", "/safe", "/b"}, list[str]()
    gate = ToolGate(answers="lenient")
    talk = chat([says(call("rm", "1", path="/all"), call("rm", "2", path="/b"))], [removes(existing, ran)], gate=gate)
    talk.say()
    talk.resume({"type": "edit", "edited_action": {"name": "rm", "args": {"path": "/safe"}}})
    assert talk.request.arguments == {"path": "/b"}
    if vanishes:
        existing.remove("/safe")
    talk.resume({"type": "approve"})
    while talk.requests:
        talk.resume({"type": "approve"})
    assert sorted(ran) == (["/b"] if vanishes else ["/b", "/safe"])


def test_a_request_that_was_answered_before_takes_no_other_answer_in_a_fork() -> None:
    ran = Recorder()
    talk = chat([says(call("send", "1", x=1), call("send", "2", x=2))], [ran.tool("send", SEND)])
    talk.say()
    first = talk.request.request_id
    start = talk.agent.get_state(talk.config).config
    talk.answer("approve")
    edit = {"type": "edit", "edited_action": {"name": "send", "args": {"x": 666}}}
    talk.agent.invoke(None, start)  # a fork, in which the same request is pending again
    assert talk.request.request_id == first
    talk.resume({**edit, "request_id": first})
    assert talk.request.request_id == first
    assert "answered before" in talk.request.error
    talk.answer("approve")
    talk.answer("approve")
    assert sorted(arguments["x"] for _, arguments in ran.runs) == [1, 2]


@pytest.mark.parametrize("later", ["bob", None, "alice"])
def test_dont_ask_again_is_not_lent_to_another_caller_on_the_same_thread(later: str | None) -> None:
    who: list[Caller | None] = [Caller("alice")]
    ran = Recorder()
    script = [says(call("log", "1", x=1)), says(), says(call("log", "2", x=1))]
    talk = chat(script, [ran.tool("log", ROUTINE)], caller=lambda _: who[0])
    talk.taught("tool")
    who[0] = None if later is None else Caller(later)
    talk.say()
    assert len(talk.requests) == (later != "alice")
    assert ran.count("log") == 1 + (later == "alice")


def test_never_again_holds_for_every_caller_of_the_thread() -> None:
    who = [Caller("alice")]
    ran = Recorder()
    script = [says(call("log", "1", x=1)), says(), says(call("log", "2", x=1))]
    talk = chat(script, [ran.tool("log", ROUTINE)], caller=lambda _: who[0])
    talk.taught("tool", "reject")
    who[0] = Caller("bob")
    talk.say()
    assert (ran.runs, talk.requests) == ([], [])


class Text(str):
    pass


class Mapping(dict[str, Any]):
    pass


NOT_ANSWERS: list[Any] = [
    "approve",
    True,
    {"type": True},
    {"type": ["approve"]},
    {"type": "approve", "approved": True},
    {"type": "approve", "message": 5},
    {"type": "approve", "remember": True},
    {"type": "approve", "remember": ["tool"]},
    {"type": "approve", "remember": {}},
    {"type": "approve", "remember": {"what": ["tool"]}},
    {"type": "approve", "remember": {"what": "tool", "scope": "user"}},
    {"type": "approve", "remember": {"what": "tool", "who": "me"}},
    {"type": "approve", "remember": {"what": "arguments", "expires_in": -1}},
    {"type": "edit"},
    {"type": "edit", "edited_action": {"name": "other", "args": {}}},
    {"type": "edit", "edited_action": {"name": "send", "args": []}},
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
]


@pytest.mark.parametrize("answer", NOT_ANSWERS, ids=repr)
def test_what_is_not_exactly_an_answer_is_asked_again(answer: Any) -> None:
    ran = Recorder()
    talk = chat([says(call("send", "1", x=1))], [ran.tool("send", SEND)])
    talk.say()
    request_id = talk.request.request_id
    talk.resume({**answer, "request_id": request_id} if isinstance(answer, dict) else answer)
    assert ran.runs == []
    assert talk.request.request_id == request_id
    assert talk.request.error
    talk.answer()
    assert ran.runs == [("send", {"x": 1})]


@pytest.mark.parametrize(
    "answer",
    [
        Mapping(type="approve", request_id="r"),
        {"type": Text("approve"), "request_id": "r"},
        {"type": "edit", "request_id": "r", "edited_action": {"name": "send", "args": {"x": 2**70}}},
        {"type": "approve", "request_id": "r", "message": "\ud800"},
    ],
    ids=["a subclass of dict", "a subclass of str", "a huge integer", "a surrogate"],
)
def test_an_answer_that_is_not_plain_json_is_not_read(answer: Any) -> None:
    with pytest.raises(InvalidAnswerError):
        read_answer(answer)
    assert read_answer({"type": "approve", "request_id": "r"}).type == "approve"


def test_a_saved_answer_that_can_no_longer_be_used_is_asked_for_again_and_the_next_stays_its_own() -> None:
    existing, ran = {"/all", "/safe", "/b"}, list[str]()
    talk = chat([says(call("rm", "1", path="/all"), call("rm", "2", path="/b"))], [removes(existing, ran)])
    talk.say()
    first = talk.request.request_id
    edited = {"name": "rm", "args": {"path": "/safe"}}
    talk.resume({"type": "edit", "request_id": first, "edited_action": edited})
    existing.remove("/safe")
    talk.answer("approve")
    assert (talk.request.request_id, talk.request.arguments) == (first, {"path": "/all"})
    talk.answer("reject")
    assert talk.request.arguments == {"path": "/b"}
    talk.answer("approve")
    assert ran == ["/b"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_a_taken_back_memory_had_cleared_is_asked_about_and_answered_as_any_other(asynchronous: bool) -> None:
    """The no came while another request waited, so in every later pass it stands before that one's own answer."""
    ran = Recorder()
    calls = says(call("log", "1", x=1), call("send", "2", x=2), call("log", "3", x=3))
    talk = chat([calls], [ran.tool("log", ROUTINE), ran.tool("send", SEND)], asynchronous=asynchronous)
    talk.say()
    first = talk.request.request_id
    talk.answer("approve", remember="tool")
    assert talk.request.tool_name == "send"
    talk.resume({"type": "reject", "request_id": first})
    talk.answer("approve")
    assert talk.request.arguments == {"x": 3}
    talk.answer("approve")
    assert sorted(ran.names) == ["log", "send"]
