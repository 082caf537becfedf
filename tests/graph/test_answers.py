"""What people say, in a hand-written graph: answers, memory, the cap, new words, replays and forks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from tests.graph.support import State, built, graph_chat
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import (
    ApprovalAnswer,
    ApprovalRequest,
    RunConfiguration,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.hosts.driving import adrive, drive, pending_requests

READ, ROUTINE = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.ROUTINE)


@pytest.fixture(params=["own tasks", "one task", "no start node", "async"])
def how(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {
        "sends": request.param != "one task",
        "start": request.param != "no start node",
        "asynchronous": request.param == "async",
    }


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as made:
        yield made


def test_unusable_answers_are_asked_again_with_the_error_and_denied_after_three(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    unusable: dict[str, Any]
    for unusable in ({"approved": "true"}, {"type": "APPROVE"}):
        chat.resume({**unusable, "request_id": chat.request.request_id})
        assert chat.request.tool_call_id == "a" and "cannot be used" in chat.request.error
    chat.answer()  # a correct answer in between
    for unusable in ({"approved": 1}, {"type": "maybe"}, {"type": None}):
        chat.resume({**unusable, "request_id": chat.request.request_id})
    assert ran.runs == [("deploy", {})]
    assert "not executed" in chat.result("b")


def test_an_answer_to_an_earlier_request_leaves_the_pending_one_pending(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    first = chat.request.request_id
    chat.answer()
    chat.resume({"type": "approve", "request_id": first})
    assert chat.request.tool_call_id == "b" and "already answered" in chat.request.error
    assert ran.names == []


def test_an_approval_is_taken_back_before_the_turn_is_complete(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    first = chat.request.request_id
    chat.answer()
    chat.resume({"type": "reject", "request_id": first})
    chat.answer()
    assert ran.runs == [("deploy", {"n": 1})]


def test_gate_answer_accepts_what_is_pending_once_and_refuses_the_rest(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"))], [ran.tool("deploy")], **how)
    chat.say()
    approve = ApprovalAnswer(type="approve", request_id=chat.request.request_id)

    def answer(given: ApprovalAnswer) -> Any:
        if how["asynchronous"]:
            return asyncio.run(_awaited(chat.gate.aanswer(chat.agent, chat.config, given)))
        return chat.gate.answer(chat.agent, chat.config, given)

    assert answer(ApprovalAnswer(type="approve", request_id="0" * 32)).status == "not_pending"
    assert [answer(approve).status, answer(approve).status] == ["accepted", "already_answered"]
    assert ran.names == ["deploy"]


async def _awaited(value: Any) -> Any:
    return await value


def test_drive_asks_an_approver_until_the_graph_is_done(how: dict[str, Any]) -> None:
    ran, asked = Recorder(), list[str]()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)

    def approver(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request.tool_call_id)
        return ApprovalAnswer(type="approve" if request.tool_call_id == "a" else "reject")

    go = {"messages": [HumanMessage("go")]}
    if how["asynchronous"]:
        done = asyncio.run(adrive(chat.agent, go, chat.config, approver=approver))
    else:
        done = drive(chat.agent, go, chat.config, approver=approver)
    assert done.done and asked == ["a", "b"] and ran.runs == [("deploy", {})]


def test_remember_tool_clears_the_sibling_and_the_next_turn(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("note", "a", n=1), call("note", "b", n=2)), says(call("note", "c", n=3))]
    chat = graph_chat(turns, [ran.tool("note", ROUTINE)], **how)
    chat.say()
    chat.answer(remember="tool")
    assert chat.requests == []
    assert sorted(args["n"] for _, args in ran.runs) == [1, 2, 3]
    assert [rule.tool_name for rule in chat.rules] == ["note"]


def test_remember_arguments_covers_the_same_arguments_only_also_in_the_next_run(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("note", "a", n=1)), says(text="ok"), says(call("note", "b", n=1), call("note", "c", n=2))]
    chat = graph_chat(turns, [ran.tool("note", ROUTINE)], **how).taught()
    chat.say("again")
    assert chat.request.tool_call_id == "c"
    chat.answer("reject")
    assert [args["n"] for _, args in ran.runs] == [1, 1]


def test_an_identical_call_is_refused_after_a_rejection_and_a_variant_is_asked_as_one(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("deploy", "a")), says(call("deploy", "b")), says(call("deploy", "c", n=1))]
    chat = graph_chat(turns, [ran.tool("deploy")], **how)
    chat.say()
    chat.answer("reject")
    assert chat.request.tool_call_id == "c" and any("variant" in note for note in chat.request.notes)
    assert "not executed" in chat.result("b") and ran.names == []


def test_at_the_cap_a_person_is_asked_and_an_approval_starts_the_count_again(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("deploy", f"{n}", n=n)) for n in range(6)]
    gate = ToolGate(heuristics=[lambda made, context: True], max_auto_approvals=2)
    chat = graph_chat(turns, [ran.tool("deploy")], gate=gate, **how)
    chat.say()
    assert chat.request.tool_call_id == "2" and ran.count("deploy") == 2
    assert any("2 turns ran without anybody being asked" in note for note in chat.request.notes)
    chat.answer()
    assert chat.request.tool_call_id == "5" and ran.count("deploy") == 5


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("sends", [False, True])
def test_new_words_while_a_request_is_pending_close_it_in_its_place(asynchronous: bool, sends: bool) -> None:
    ran = Recorder()
    turns = [says(call("deploy", "a"), call("deploy", "b", n=1)), says(text="as you like")]
    chat = graph_chat(turns, [ran.tool("deploy")], asynchronous=asynchronous, sends=sends)
    chat.say()
    first = chat.request.request_id
    chat.answer()
    chat.say("never mind")
    assert [one.type for one in chat.messages] == ["human", "ai", "tool", "tool", "human", "ai"]
    assert ran.names == [] and chat.requests == []
    assert "not executed" in chat.result("a") and "not executed" in chat.result("b")
    assert chat.gate.answer(chat.agent, chat.config, {"type": "approve", "request_id": first}).status != "accepted"
    assert ran.names == []


def test_what_was_rejected_and_remembered_before_the_new_words_holds_after_them() -> None:
    ran = Recorder()
    turns = [
        says(call("note", None, n=1), call("deploy", "x"), call("deploy", "x", n=2)),
        says(call("deploy", "d"), call("note", "e", n=1)),
    ]
    chat = graph_chat(turns, [ran.tool("deploy"), ran.tool("note", ROUTINE)])
    chat.say()
    chat.answer(remember="arguments")
    chat.answer("reject", message="not today")
    chat.say("well?")
    made = [made["id"] for made in chat.messages[1].tool_calls]  # type: ignore[attr-defined]
    assert [one.tool_call_id for one in chat.results[:3]] == made and len({*made}) == 3
    assert "not today" in chat.result(made[1])
    assert chat.requests == [] and ran.runs == [("note", {"n": 1})]
    assert "not executed" in chat.result("d")


def test_without_a_starting_node_an_answer_after_new_words_changes_nothing() -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"))], [ran.tool("deploy")], start=False)
    chat.say()
    first = chat.request.request_id
    chat.say("never mind")
    answer = ApprovalAnswer(type="approve", request_id=first)
    assert chat.gate.answer(chat.agent, chat.config, answer).status == "not_pending"
    assert ran.names == []


def test_a_configuration_tightened_during_the_pause_refuses_the_approved_call() -> None:
    allowed = [RunConfiguration(groups=None)]
    ran = Recorder()
    tool = ran.tool("deploy", ToolProfile(tier=Tier.CONSEQUENTIAL, groups=frozenset({"ops"})))
    other = ran.tool("read", ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"docs"})))
    gate = ToolGate(ToolCatalog.from_tools([tool, other]))
    chat = graph_chat([says(call("deploy", "a"))], [tool, other], gate=gate, configuration=lambda _: allowed[0])
    chat.say()
    allowed[0] = RunConfiguration(groups=frozenset({"docs"}))
    chat.answer()
    assert ran.names == [] and "not executed" in chat.result("a")


def test_arguments_changed_in_the_state_after_the_approval_are_refused_as_changed() -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a", n=1))], [ran.tool("deploy")])
    chat.say()
    message = chat.messages[-1]
    forged = message.model_copy(update={"tool_calls": [call("deploy", "a", n=2)]})
    chat.answer()
    before = next(one for one in chat.agent.get_state_history(chat.config) if one.next == ("tools",))
    fork = chat.agent.update_state(before.config, {"messages": [forged]}, as_node="gate")
    chat.agent.invoke(None, fork)
    assert ran.runs == [("deploy", {"n": 1})]
    assert "no longer the same" in chat.result("a")


@pytest.mark.parametrize("nodes", [("gate",), ("tools",)])
def test_a_replay_from_an_older_checkpoint_runs_nothing_a_second_time(
    how: dict[str, Any], saver: Any, nodes: tuple[str, ...]
) -> None:
    if how["asynchronous"] and isinstance(saver, SqliteSaver):
        pytest.skip("this saver is for synchronous graphs")
    ran = Recorder()

    def heuristic(made: Any, context: Any) -> bool:
        return bool(made["args"].get("n") == 2)

    turns = [says(call("deploy", "a", n=1), call("deploy", "b", n=2)), says(text="one"), says(text="two")]
    chat = graph_chat(turns, [ran.tool("deploy")], gate=ToolGate(heuristics=[heuristic]), checkpointer=saver, **how)
    chat.say()
    chat.answer()
    assert sorted(args["n"] for _, args in ran.runs) == [1, 2]
    older = [one for one in chat.agent.get_state_history(chat.config) if one.next and set(one.next) == set(nodes)][-1]
    if how["asynchronous"]:
        asyncio.run(chat.agent.ainvoke(None, older.config))
    else:
        chat.agent.invoke(None, older.config)
    if nodes == ("gate",):
        # Judged once more, in another branch of the history: the same request, whose grant is used.
        assert chat.request.tool_call_id == "a"
        chat.answer()
    assert len(ran.runs) == 2
    assert "unknown" in chat.result("a") and "unknown" in chat.result("b")


def test_a_fork_of_the_pause_asks_again_and_one_approval_runs_one_call(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"))], [ran.tool("deploy")], **how)
    chat.say()
    paused = chat.agent.get_state(chat.config)
    chat.answer()
    fork = chat.agent.update_state(paused.config, None, as_node="model")
    chat.agent.invoke(None, fork)
    chat.answer()
    assert ran.names == ["deploy"]
    assert "unknown" in chat.result("a")


def test_paused_in_one_process_and_resumed_in_another(saver: Any) -> None:
    """Another guard, model and graph over the same checkpointer; nothing is known of the first ones but the ledger."""
    ran, asked = Recorder(), list[str]()

    def heuristic(made: Any, context: Any) -> bool:
        asked.append(made["id"])
        return False

    gate, turns = ToolGate(heuristics=[heuristic]), [says(call("deploy", "a"), call("deploy", "b", n=1))]
    first = graph_chat(turns, [ran.tool("deploy")], gate=gate, checkpointer=saver)
    first.say()
    first.answer()
    second = graph_chat([], [ran.tool("deploy")], gate=gate, checkpointer=saver)
    second.answer("reject")
    assert ran.runs == [("deploy", {})] and asked == ["a", "b"]
    assert second.messages[-1].content == "done"


def test_the_question_and_the_results_are_streamed(how: dict[str, Any]) -> None:
    chat = graph_chat([says(call("deploy", "a"), text="On it.")], [Recorder().tool("deploy")], **how)

    async def astreamed(value: Any) -> list[Any]:
        return [chunk async for chunk in chat.agent.astream(value, chat.config, stream_mode="updates")]

    def streamed(value: Any) -> list[Any]:
        if how["asynchronous"]:
            return asyncio.run(astreamed(value))
        return list(chat.agent.stream(value, chat.config, stream_mode="updates"))

    chunks = streamed({"messages": [HumanMessage("go")]})
    assert next(chunk for chunk in chunks if "model" in chunk)["model"]["messages"][0].content == "On it."
    (question,) = chunks[-1]["__interrupt__"]
    assert question.value["action_requests"][0]["name"] == "deploy"
    resumed = streamed(Command(resume={"type": "approve", "request_id": chat.request.request_id}))
    assert [one.content for chunk in resumed if "tools" in chunk for one in chunk["tools"]["messages"]] == [
        "ran deploy"
    ]


def test_a_graph_in_a_tool_of_another_one_shares_the_run_of_its_root() -> None:
    """The cap and the rejections of the root hold for the graph inside."""
    ran, gate = Recorder(), ToolGate()
    inner = gate.graph([ran.tool("deploy")])
    model = ScriptedModel(script=[says(call("deploy", "i1"))])
    graph = built(inner, model).compile()

    def helper(**_: Any) -> str:
        return str(graph.invoke({"messages": [HumanMessage("help")]})["messages"][-1].content)

    empty = {"type": "object", "properties": {}}
    tool = StructuredTool(name="helper", description="Helps.", func=helper, args_schema=empty)
    chat = graph_chat([says(call("deploy", "a")), says(call("helper", "h"))], [ran.tool("deploy"), tool], gate=gate)
    chat.say()
    chat.answer("reject")
    chat.answer()  # the helper itself
    assert chat.requests == [] and ran.names == []
    assert chat.result("h") == "done"


@pytest.mark.parametrize("start", [True, False])
def test_a_graph_behind_the_gate_may_be_a_node_of_another_graph(start: bool) -> None:
    ran, gate = Recorder(), ToolGate()
    model = ScriptedModel(script=[says(call("deploy", "a"), call("deploy", "b", n=1))])
    builder = StateGraph(State)
    builder.add_node("agent", built(gate.graph([ran.tool("deploy")]), model, start=start).compile())
    builder.add_node("after", lambda state: {"messages": [HumanMessage("thanks", id="t")]})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "after")
    chat = Chat(builder.compile(checkpointer=InMemorySaver()), model, gate)
    chat.say()
    chat.answer()
    chat.answer("reject")
    assert ran.runs == [("deploy", {})]
    assert [one.type for one in chat.messages] == ["human", "ai", "tool", "tool", "ai", "human"]
    assert "rejected" in chat.result("b")


def test_what_looks_like_the_gates_state_in_the_input_has_no_effect(how: dict[str, Any]) -> None:
    ran = Recorder()
    turn = says(call("deploy", "a"))
    chat = graph_chat([turn, turn], [ran.tool("deploy")], **how)
    other = graph_chat([turn], [ran.tool("deploy")], gate=chat.gate, thread="other", **how)
    other.taught("arguments")
    state = other.agent.get_state(other.config).values
    forged = {key: value for key, value in state.items() if key.startswith("toolgate_")}
    assert "toolgate_rules" in forged
    chat.invoke({"messages": [HumanMessage("go")], **forged})
    assert chat.request.tool_call_id == "a" and ran.count("deploy") == 1
    assert not [key for key in chat.agent.get_input_jsonschema()["properties"] if key.startswith("toolgate_")]


async def test_an_asynchronous_graph_on_a_database_pauses_goes_on_and_is_superseded(tmp_path: Path) -> None:
    ran, asked = Recorder(), list[str]()

    async def heuristic(made: Any, context: Any) -> bool:
        asked.append(made["id"])
        return False

    turns = [says(call("deploy", "a"), call("deploy", "b", n=1)), says(text="ok"), says(call("deploy", "c", n=2))]
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        chat = graph_chat(turns, [ran.tool("deploy")], gate=ToolGate(heuristics=[heuristic]), checkpointer=saver)

        async def pending() -> ApprovalRequest:
            ((_, request),) = pending_requests((await chat.agent.aget_state(chat.config)).interrupts)
            return request

        await chat.agent.ainvoke({"messages": [HumanMessage("go")]}, chat.config)
        for kind in ("approve", "reject"):
            answer = {"type": kind, "request_id": (await pending()).request_id}
            assert (await chat.gate.aanswer(chat.agent, chat.config, answer)).status == "accepted"
        assert ran.runs == [("deploy", {})]
        await chat.agent.ainvoke({"messages": [HumanMessage("again")]}, chat.config)
        assert (await pending()).tool_call_id == "c"
        last = await chat.agent.ainvoke({"messages": [HumanMessage("never mind")]}, chat.config)
    kinds = [one.type for one in last["messages"]]
    assert kinds == ["human", "ai", "tool", "tool", "ai", "human", "ai", "tool", "human", "ai"]
    assert ran.runs == [("deploy", {})] and asked == ["a", "b", "c"]
