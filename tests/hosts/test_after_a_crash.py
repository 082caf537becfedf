"""New words on a thread whose run crashed: each call of its last turn ends with exactly one result in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.graph.support import graph_chat
from tests.support import Chat, Recorder, alone, call, chat, says, with_profile
from toolgate_langchain import Surface, Tier, ToolGate, ToolProfile, Verdict

READ = ToolProfile(tier=Tier.READ_ONLY)
DANGEROUS = ToolProfile(tier=Tier.CONSEQUENTIAL)
ALLOWED = [Surface("chat", consequential=Verdict.ALLOW)]


class Killed(BaseException):
    """The process ends here, as far as the tool can tell."""


def crashing(profile: ToolProfile, error: type[BaseException]) -> BaseTool:
    def boom() -> str:
        raise error

    async def aboom() -> str:
        raise error

    return with_profile(StructuredTool.from_function(boom, aboom, name="boom", description="Fails."), profile)


def in_their_places(talk: Chat) -> list[str]:
    """The results of the turn, which stand right behind it and before the user's new words, one for each call."""
    turn = next(place for place, one in enumerate(talk.messages) if isinstance(one, AIMessage) and one.tool_calls)
    first, second, words = talk.messages[turn + 1 : turn + 4]
    assert isinstance(first, ToolMessage) and isinstance(second, ToolMessage) and isinstance(words, HumanMessage)
    assert {first.tool_call_id, second.tool_call_id} == {"b", "o"}
    assert len(talk.results) == 2
    return [talk.result("b"), talk.result("o")]


Make = Callable[[ToolGate, list[BaseTool], bool], Chat]
TURN = says(call("boom", "b"), call("ok", "o"))


def agent(when_needed: bool) -> Make:
    def make(gate: ToolGate, tools: list[BaseTool], asynchronous: bool) -> Chat:
        middleware = alone(gate, when_needed=when_needed)
        return chat([TURN], tools, gate=gate, middleware=middleware, asynchronous=asynchronous)

    return make


def graph(sends: bool) -> Make:
    def make(gate: ToolGate, tools: list[BaseTool], asynchronous: bool) -> Chat:
        return graph_chat([TURN], tools, gate=gate, sends=sends, asynchronous=asynchronous)

    return make


FORMS = {"agent": agent(False), "agent, around": agent(True), "graph": graph(True), "graph, one task": graph(False)}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("error", [RuntimeError, Killed])
@pytest.mark.parametrize("case", ["read-only", "allowed", "approved"])
@pytest.mark.parametrize("form", FORMS)
def test_after_a_crash_in_a_tool_new_words_leave_no_call_without_its_result(
    form: str, case: str, error: type[BaseException], asynchronous: bool
) -> None:
    gate, ran = ToolGate(surfaces=ALLOWED if case == "allowed" else [Surface("chat")]), Recorder()
    tools = [crashing(READ if case == "read-only" else DANGEROUS, error), ran.tool("ok", READ)]
    talk = FORMS[form](gate, tools, asynchronous)

    def until_it_crashes() -> None:
        talk.say()
        talk.answer()

    with pytest.raises(error):
        until_it_crashes()
    talk.say("something else")
    crashed, beside = in_their_places(talk)
    assert "unknown" in crashed
    assert "ran ok" in beside or "not executed" in beside or "unknown" in beside
    assert talk.messages[-1].text == "done"


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("allowed", [False, True], ids=["read-only", "allowed"])
def test_a_run_that_was_stopped_before_its_tools_leaves_none_either(allowed: bool, asynchronous: bool) -> None:
    """As by a process that is killed between the model's turn and its tools: nothing is written of them."""
    ran, gate = Recorder(), ToolGate(surfaces=ALLOWED)
    tools = [ran.tool("boom", DANGEROUS if allowed else READ), ran.tool("ok", READ)]
    talk = chat([TURN], tools, gate=gate, agent={"interrupt_before": ["tools"]}, asynchronous=asynchronous)
    talk.say()
    talk.agent.interrupt_before_nodes = []
    talk.say("something else")
    results = in_their_places(talk)
    assert ran.runs == []
    # What leaves a start on record is known not to have run; of the others nobody can say.
    assert ("unknown" in results[0]) is not allowed


def test_a_run_that_ended_is_not_taken_for_one_that_crashed() -> None:
    ran = Recorder()
    talk = chat([TURN, says(text="told"), says(text="again")], [ran.tool("boom", READ), ran.tool("ok", READ)])
    talk.say()
    before = talk.messages
    talk.say("more")
    assert [message.id for message in talk.messages[: len(before)]] == [message.id for message in before]
    assert sorted(ran.names) == ["boom", "ok"]  # siblings run side by side


async def test_a_crash_in_an_agent_inside_of_a_tool_leaves_its_parents_call_a_result() -> None:
    from tests.subagents.support import as_tool, inner, makes

    gate = ToolGate(surfaces=ALLOWED)
    helper = as_tool(inner(gate, makes(call("boom", "i")), [crashing(DANGEROUS, RuntimeError)]))
    made = chat([says(call("helper", "h"))], [helper], gate=gate, checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError):
        await asyncio.to_thread(made.say)
    await asyncio.to_thread(made.say, "something else")
    assert [message.tool_call_id for message in made.results] == ["h"]
