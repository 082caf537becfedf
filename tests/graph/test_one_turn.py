"""One turn in a hand-written graph, in each way in which its calls can reach the tools."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from tests.graph.support import graph_chat
from tests.support import Recorder, call, says
from toolgate_langchain import Tier, ToolGate, ToolProfile

ROUTINE, READ, CONSEQUENTIAL = (
    ToolProfile(tier=Tier.ROUTINE),
    ToolProfile(tier=Tier.READ_ONLY),
    ToolProfile(tier=Tier.CONSEQUENTIAL),
)


@pytest.fixture(params=["own tasks", "one task"])
def sends(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "own tasks")


@pytest.fixture(params=["started", "no start node"])
def start(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "started")


@pytest.fixture(params=["sync", "async"])
def how(request: pytest.FixtureRequest, sends: bool, start: bool) -> dict[str, Any]:
    return {"asynchronous": request.param == "async", "sends": sends, "start": start}


def test_text_only_passes_through(how: dict[str, Any]) -> None:
    chat = graph_chat([says(text="hello")], [Recorder().tool("read", READ)], **how)
    assert chat.say()["messages"][-1].content == "hello"
    assert chat.requests == []
    assert "toolgate_turn" not in chat.agent.get_state(chat.config).values


def test_two_calls_that_need_a_person_are_asked_one_at_a_time_before_any_of_them_runs(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("notify", "b"))], [ran.tool("deploy"), ran.tool("notify")], **how)
    chat.say()
    assert (chat.request.tool_name, chat.request.position, chat.request.of) == ("deploy", 1, 2)
    chat.answer()
    assert (chat.request.tool_name, chat.request.position) == ("notify", 2)
    assert ran.names == []
    chat.answer()
    assert sorted(ran.names) == ["deploy", "notify"]
    assert (chat.result("a"), chat.result("b")) == ("ran deploy", "ran notify")
    assert len(chat.model.seen) == 2


def test_a_sibling_that_needs_nobody_waits_for_the_answer_as_well(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat(
        [says(call("list", "l"), call("deploy", "d"))], [ran.tool("list", READ), ran.tool("deploy", ROUTINE)], **how
    )
    chat.say()
    assert ran.names == []
    chat.answer()
    assert sorted(ran.names) == ["deploy", "list"]


def test_approve_reject_approve(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat(
        [says(call("deploy", "a", n=1), call("deploy", "b", n=2), call("deploy", "c", n=3))],
        [ran.tool("deploy")],
        **how,
    )
    chat.say()
    chat.answer()
    chat.answer("reject", message="not on a Friday")
    chat.answer()
    assert sorted(args["n"] for _, args in ran.runs) == [1, 3]
    assert "not on a Friday" in chat.result("b")
    assert chat.messages[-1].content == "done"


def test_an_edit_runs_what_the_person_wrote_and_says_so(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a", n=1)), says(call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    chat.answer("edit", edited_action={"name": "deploy", "args": {"n": 2}})
    assert ran.runs == [("deploy", {"n": 2})]
    assert '{"n":2}' in chat.result("a")
    assert "was not executed" in chat.result("b")  # its own version, proposed again


def test_a_response_stands_for_the_result_and_nothing_runs(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"))], [ran.tool("deploy")], **how)
    chat.say()
    chat.answer("respond", message="it is deployed already")
    assert ran.runs == []
    assert "it is deployed already" in chat.result("a")


def test_an_unknown_tool_and_bad_arguments_get_errors_and_the_good_call_is_asked(how: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    ran = Recorder()
    chat = graph_chat(
        [says(call("deplyo", "a"), call("deploy", "b", n="many"), call("deploy", "c", n=1))],
        [ran.tool("deploy", schema=schema)],
        **how,
    )
    chat.say()
    assert chat.request.tool_call_id == "c"
    chat.answer()
    assert ran.runs == [("deploy", {"n": 1})]
    assert "not executed" in chat.result("a") and "not executed" in chat.result("b")


def test_calls_without_an_id_or_with_the_same_one_get_fresh_ids_and_are_asked_on_their_own(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat(
        [says(call("deploy", None, n=1), call("deploy", "x", n=2), call("deploy", "x", n=3))],
        [ran.tool("deploy")],
        **how,
    )
    chat.say()
    chat.answer("reject")
    chat.answer()
    chat.answer("reject")
    assert ran.runs == [("deploy", {"n": 2})]
    (message,) = [one for one in chat.messages if isinstance(one, AIMessage) and one.tool_calls]
    ids = [made["id"] for made in message.tool_calls]
    assert len({*ids}) == 3 and None not in ids
    assert [one.tool_call_id for one in chat.results] == ids


def test_unreadable_calls_alone_go_back_to_the_model_with_the_error(start: bool) -> None:
    broken = AIMessage("", invalid_tool_calls=[{"name": "deploy", "args": "{n:", "id": "a", "error": "no JSON"}])
    chat = graph_chat([broken, says(text="sorry")], [Recorder().tool("deploy")], start=start)
    assert chat.say()["messages"][-1].content == "sorry"
    assert isinstance(chat.model.seen[1][-1], ToolMessage) and "could not be read" in chat.result("a")


def test_heuristics_are_asked_once_over_pause_resume_and_replay(how: dict[str, Any]) -> None:
    asked: list[str] = []

    async def heuristic(made: Any, context: Any) -> bool:
        asked.append(made["id"])
        assert [one.content for one in context.messages] == ["go"]
        return bool(made["args"].get("n") == 1)

    ran = Recorder()
    chat = graph_chat(
        [says(call("deploy", "a", n=1), call("deploy", "b", n=2), call("deploy", "c", n=3))],
        [ran.tool("deploy")],
        gate=ToolGate(heuristics=[heuristic]),
        **how,
    )
    chat.say()
    assert chat.request.tool_call_id == "b" and ran.names == []
    chat.answer()
    chat.answer("reject")
    assert sorted(args["n"] for _, args in ran.runs) == [1, 2]
    assert asked == ["a", "b", "c"]


def test_a_heuristic_that_raises_fails_the_run_and_nothing_is_saved_asked_or_run(how: dict[str, Any]) -> None:
    def heuristic(made: Any, context: Any) -> bool:
        raise RuntimeError("no connection")

    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"))], [ran.tool("deploy")], gate=ToolGate(heuristics=[heuristic]), **how)
    with pytest.raises(Exception, match="heuristic") as failure:
        chat.say()
    assert isinstance(failure.value.__cause__, RuntimeError)
    assert ran.names == [] and chat.requests == []
    assert not chat.agent.get_state(chat.config).values.get("toolgate_turn")
