"""Calls side by side in one task of a tool node: one that pauses or fails takes the node along, and none runs twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from tests.graph.support import asks_inside, graph_chat
from tests.support import Recorder, call, says, with_profile
from toolgate_langchain import Tier, ToolGate, ToolProfile

READ, CONSEQUENTIAL = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.CONSEQUENTIAL)


@pytest.fixture(params=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "async")


@pytest.fixture(params=["one task", "own tasks"])
def sends(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "own tasks")


def test_siblings_of_a_tool_that_pauses_run_once_and_keep_their_results(asynchronous: bool, sends: bool) -> None:
    ran = Recorder()
    tools = [ran.tool("send"), ran.tool("read", READ), asks_inside(ran, "elicit", READ)]
    chat = graph_chat(
        [says(call("send", "s"), call("elicit", "e"), call("read", "r"))], tools, asynchronous=asynchronous, sends=sends
    )
    chat.say()
    chat.answer()
    assert "send" in ran.names
    chat.resume("blue")
    assert sorted(ran.names) == ["elicit", "read", "send"]
    assert [chat.result(name) for name in "ser"] == ["ran send", "told blue", "ran read"]
    assert len(chat.results) == 3 and chat.messages[-1].content == "done"


def test_a_paused_tool_that_was_approved_goes_on_under_its_approval(asynchronous: bool, sends: bool) -> None:
    ran = Recorder()
    tools = [asks_inside(ran, "elicit"), ran.tool("send")]
    chat = graph_chat([says(call("elicit", "e"), call("send", "s"))], tools, asynchronous=asynchronous, sends=sends)
    chat.say()
    chat.answer()
    chat.answer()
    chat.resume("blue")
    assert (chat.result("e"), chat.result("s")) == ("told blue", "ran send")
    assert sorted(ran.names) == ["elicit", "send"]


def test_two_tools_that_pause_each_go_on_with_their_own_answer(asynchronous: bool) -> None:
    ran = Recorder()
    tools = [asks_inside(ran, "one", READ), asks_inside(ran, "two", READ), ran.tool("send")]
    chat = graph_chat([says(call("one", "1"), call("send", "s"), call("two", "2"))], tools, asynchronous=asynchronous)
    chat.say()
    chat.answer()
    pending = chat.agent.get_state(chat.config).interrupts
    assert sorted(one.value["question"] for one in pending) == ["one", "two"]
    chat.resume({one.id: f"for {one.value['question']}" for one in pending})
    assert (chat.result("1"), chat.result("2")) == ("told for one", "told for two")
    assert ran.count("send") == 1


def _failing(ran: Recorder, name: str, profile: ToolProfile | None = None) -> BaseTool:
    def run(**_: Any) -> str:
        ran.runs.append((name, {}))
        if ran.count(name) == 1:
            raise ConnectionError("the other side hung up")
        return f"{name} worked"

    async def arun(**kwargs: Any) -> str:
        return run(**kwargs)

    made = StructuredTool(
        name=name, description="Fails once.", func=run, coroutine=arun, args_schema={"type": "object", "properties": {}}
    )
    return made if profile is None else with_profile(made, profile)


def test_siblings_of_a_tool_that_raises_run_once_and_the_failed_one_is_not_repeated(
    asynchronous: bool, sends: bool
) -> None:
    ran = Recorder()
    chat = graph_chat(
        [says(call("send", "s"), call("pay", "p"))],
        [ran.tool("send"), _failing(ran, "pay")],
        asynchronous=asynchronous,
        sends=sends,
    )
    chat.say()
    chat.answer()
    with pytest.raises(ConnectionError):
        chat.answer()
    chat.invoke(None)  # the run is taken up again
    assert sorted(ran.names) == ["pay", "send"]
    assert chat.result("s") == "ran send"
    assert "outcome is not known" in chat.result("p") or "unknown" in chat.result("p")


def test_a_failed_read_may_be_repeated_and_its_sibling_keeps_its_result(asynchronous: bool, sends: bool) -> None:
    ran = Recorder()
    chat = graph_chat(
        [says(call("read", "r"), call("look", "l"))],
        [ran.tool("read", READ), _failing(ran, "look", READ)],
        asynchronous=asynchronous,
        sends=sends,
    )
    with pytest.raises(ConnectionError):
        chat.say()
    chat.invoke(None)
    assert (chat.result("r"), chat.result("l")) == ("ran read", "look worked")
    assert ran.count("look") == 2


def _waiting(ran: Recorder, name: str, until: Callable[[], Awaitable[Any]]) -> BaseTool:
    async def arun(**_: Any) -> str:
        await until()
        ran.runs.append((name, {}))
        return f"ran {name}"

    return StructuredTool(
        name=name, description="Waits.", coroutine=arun, args_schema={"type": "object", "properties": {}}
    )


def test_a_call_that_pauses_at_once_does_not_cut_its_slower_siblings_off() -> None:
    ran = Recorder()
    passed = asyncio.Semaphore(0)

    async def takes_turns() -> None:
        for _ in range(50):
            passed.release()
            await passed.acquire()
            await asyncio.get_running_loop().run_in_executor(None, int)

    tools = [asks_inside(ran, "elicit", READ), _waiting(ran, "send", takes_turns)]
    chat = graph_chat([says(call("elicit", "e"), call("send", "s"))], tools, asynchronous=True, sends=False)
    chat.say()
    chat.answer()
    assert ran.names == ["send"]
    chat.resume("blue")
    assert (chat.result("e"), chat.result("s")) == ("told blue", "ran send")
    assert ran.count("send") == 1


def test_in_another_process_what_ran_is_not_repeated_and_its_result_is_the_one_that_was_recorded() -> None:
    ran = Recorder()
    tools = [ran.tool("send"), asks_inside(ran, "elicit", READ)]
    gate, script = ToolGate(), [says(call("send", "s"), call("elicit", "e"))]
    chat = graph_chat(script, tools, gate=gate, sends=False)
    chat.say()
    chat.answer()
    # The same ledger, another guard: what the first one kept in its process is gone.
    other = graph_chat(script[1:], tools, gate=gate, sends=False, checkpointer=chat.agent.checkpointer)
    other.resume("blue")
    assert ran.count("send") == 1
    assert (other.result("s"), other.result("e")) == ("ran send", "told blue")


def test_with_a_task_for_each_call_another_process_has_the_siblings_result() -> None:
    ran = Recorder()
    tools = [ran.tool("send"), asks_inside(ran, "elicit", READ)]
    gate, script = ToolGate(), [says(call("send", "s"), call("elicit", "e"))]
    chat = graph_chat(script, tools, gate=gate)
    chat.say()
    chat.answer()
    other = graph_chat(script[1:], tools, gate=gate, checkpointer=chat.agent.checkpointer)
    other.resume("blue")
    assert (other.result("s"), other.result("e"), ran.count("send")) == ("ran send", "told blue", 1)


def test_new_words_while_a_tool_pauses_leave_its_siblings_result_in_place(asynchronous: bool, sends: bool) -> None:
    ran = Recorder()
    tools = [ran.tool("send"), asks_inside(ran, "elicit", READ)]
    chat = graph_chat([says(call("send", "s"), call("elicit", "e"))], tools, asynchronous=asynchronous, sends=sends)
    chat.say()
    chat.answer()
    chat.say("never mind")
    assert chat.result("s") == "ran send"
    assert "not executed" in chat.result("e")
    assert [one.type for one in chat.messages] == ["human", "ai", "tool", "tool", "human", "ai"]
    assert ran.names == ["send"]


def test_nothing_is_handed_back_where_the_node_is_entered_for_the_first_time(asynchronous: bool) -> None:
    """A read that ran in a task that came to its end runs again in another branch of the history."""
    ran = Recorder()
    chat = graph_chat([says(call("read", "r")), says(text="a"), says(text="b")], [ran.tool("read", READ)],
                      asynchronous=asynchronous, sends=False)  # fmt: skip
    chat.say()
    before = next(one for one in chat.agent.get_state_history(chat.config) if one.next == ("tools",))
    fork = chat.agent.update_state(before.config, None, as_node="gate")
    chat.agent.invoke(None, fork)
    assert ran.count("read") == 2
