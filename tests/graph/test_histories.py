"""Pauses, replays and forks of a hand-written graph, and what the user writes instead of an answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.graph.support import graph_chat
from tests.support import Recorder, call, says
from toolgate_langchain import (
    ApprovalAnswer,
    ApprovalRequest,
    RunConfiguration,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.hosts.langgraph.driving import pending_requests

READ, ROUTINE = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.ROUTINE)


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
