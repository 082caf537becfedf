"""A GraphInterrupt swallowed by an error handler: the pause of an agent inside leaves its tool all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from tests.subagents.support import DANGEROUS, READ, answer_all, as_tool, inner, makes, told
from tests.support import Chat, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import ToolGate, ToolProfile
from toolgate_langchain.approvals.ledger import GrantStatus

TASK = {"messages": [HumanMessage("go")]}


def swallowing(agent: Any, how: str, name: str = "helper", profile: ToolProfile = READ) -> BaseTool:
    """A tool whose author catches everything that an agent inside raises, or makes another error of it."""

    def handled(error: Exception) -> str:
        if how == "another error":
            raise RuntimeError("the agent failed") from error
        return "it failed, never mind"

    def run() -> str:
        try:
            return str(agent.invoke(TASK)["messages"][-1].content)
        except Exception as error:
            return handled(error)

    async def arun() -> str:
        try:
            return str((await agent.ainvoke(TASK))["messages"][-1].content)
        except Exception as error:
            return handled(error)

    return with_profile(StructuredTool.from_function(run, arun, name, "Let an agent do it."), profile)


@pytest.mark.parametrize("profile", [READ, DANGEROUS], ids=["a tool that nobody is asked about", "an approved tool"])
@pytest.mark.parametrize("how", ["a result", "another error"])
def test_a_graph_interrupt_that_the_tool_swallows_reaches_the_root(
    ran: Recorder, asynchronous: bool, how: str, profile: ToolProfile
) -> None:
    gate = ToolGate()
    helper = swallowing(inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)]), how, profile=profile)
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    if profile is DANGEROUS:
        outer = talk.request.request_id
        talk.answer()
        assert gate.ledger.status(outer) is GrantStatus.PAUSED
    assert (talk.request.tool_name, talk.request.agent_path) == ("rm", ("helper",))
    assert talk.results == []
    talk.answer()
    assert ran.count("rm") == 1
    assert talk.result("h") == "inner: ran rm"


def test_one_that_is_swallowed_at_two_depths_reaches_the_root(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    innermost = inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)])
    middle = inner(gate, makes(call("clean", "c")), [swallowing(innermost, "a result", "clean")])
    talk = chat(
        [says(call("helper", "h"))], [swallowing(middle, "another error")], gate=gate, asynchronous=asynchronous
    )
    talk.say()
    assert talk.request.agent_path == ("helper", "clean")
    talk.answer()
    assert talk.result("h") == "inner: inner: ran rm"


def test_a_tools_own_error_is_its_own(ran: Recorder, asynchronous: bool) -> None:
    """Where nothing paused inside, what a tool returns or raises stays what it is."""
    gate = ToolGate()

    def fails(**_: Any) -> str:
        raise ValueError("broken")

    broken = with_profile(ran.tool("rm", READ).model_copy(update={"func": fails, "coroutine": None}), READ)
    helper = swallowing(inner(gate, makes(call("rm", "r", x=1)), [broken]), "a result")
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert talk.requests == []
    assert talk.result("h") == "it failed, never mind"


def test_two_agents_in_one_tool_that_swallows_both_pauses_are_both_asked_about(ran: Recorder) -> None:
    gate = ToolGate()
    helper = inner(gate, told("rm"), [ran.tool("rm", DANGEROUS)])

    async def both() -> str:
        tasks = [helper.ainvoke({"messages": [HumanMessage(task)]}) for task in ("one", "two")]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        return " and ".join(str(one["messages"][-1].content) if isinstance(one, dict) else "failed" for one in done)

    tool = with_profile(StructuredTool.from_function(None, both, "helper", "Let two agents do it."), READ)
    talk = chat([says(call("helper", "h"))], [tool], gate=gate, asynchronous=True)
    talk.say()
    assert sorted(request.arguments["x"] for request in talk.requests) == ["one", "two"]
    assert sorted(answer_all(talk)) == ["rm", "rm"]
    assert sorted(arguments["x"] for _, arguments in ran.runs) == ["one", "two"]
    assert talk.result("h") == "inner: ran rm and inner: ran rm"


def test_a_tool_inside_that_pauses_by_itself_is_not_swallowed(ran: Recorder, asynchronous: bool) -> None:
    """The pause is some tool's own, not the gate's; whoever drives the run sees it all the same."""
    gate = ToolGate()

    def choose() -> str:
        return f"chose {interrupt('which one?')}"

    async def achoose() -> str:
        return choose()

    chooser = with_profile(StructuredTool.from_function(choose, achoose, "choose", "Choose."), READ)
    helper = swallowing(inner(gate, makes(call("choose", "c")), [chooser]), "a result")
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert [one.value for one in talk.agent.get_state(talk.config).interrupts] == ["which one?"]
    talk.invoke(Command(resume="that one"))
    assert talk.result("h") == "inner: chose that one"


def test_middleware_that_retries_failed_tools_does_not_take_a_pause_for_a_failure(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate()
    helper = as_tool(inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)]))
    retries = ToolRetryMiddleware(max_retries=3, initial_delay=0, on_failure="continue")
    talk = chat(
        [says(call("helper", "h"))], [helper], gate=gate, middleware=gate.around([retries]), asynchronous=asynchronous
    )
    talk.say()
    assert len(talk.requests) == 1
    talk.answer()
    assert ran.count("rm") == 1
    assert talk.result("h") == "inner: ran rm"


def test_a_swallowed_pause_is_found_again_where_the_run_goes_on(ran: Recorder) -> None:
    """The agent inside pauses twice; both times its tool takes it for a failure."""
    gate = ToolGate()
    model = ScriptedModel(script=[says(call("rm", "one", x=1)), says(call("rm", "two", x=2)), says(text="did both")])
    helper = swallowing(inner(gate, model, [ran.tool("rm", DANGEROUS)]), "a result")
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, checkpointer=InMemorySaver())
    talk.say()
    assert answer_all(talk) == ["rm", "rm"]
    assert talk.result("h") == "did both"
    assert ran.count("rm") == 2


def kept(talk: Chat) -> list[str]:
    return [str(message.content) for message in talk.results]


def test_a_rejection_inside_of_a_tool_that_swallows_errors_is_final(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    helper = swallowing(inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)]), "a result")
    talk = chat([says(call("helper")), says(call("rm", x=1))], [helper, ran.tool("rm", DANGEROUS)], gate=gate,
                asynchronous=asynchronous)  # fmt: skip
    talk.say()
    talk.answer("reject")
    assert talk.requests == []
    assert ran.runs == []
    assert ["rejected" in text or "not executed" in text for text in kept(talk)] == [True, True]
