"""A worker that lost what goes on inside of a tool saves nothing, whatever the tool makes of the error."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.durable.workers import elsewhere, forks, saved
from tests.subagents.support import DANGEROUS, READ, inner, makes
from tests.support import Chat, Recorder, call, chat, says, with_profile
from toolgate_langchain import GatedAgent, ToolGate
from toolgate_langchain.errors import AlreadyAnsweredError

KINDS = ["an agent of LangGraph", "a GatedAgent"]


def catching_everything(agent: Any, how: str, swallowed: list[BaseException]) -> BaseTool:
    """A tool whose author catches whatever an agent inside raises, or makes another error of it."""
    task = {"messages": [HumanMessage("go")]}

    def handled(error: BaseException) -> str:
        swallowed.append(error)
        if how == "another error":
            raise RuntimeError("the agent failed") from error
        return "never mind"

    def run() -> str:
        try:
            return str(agent.invoke(task)["messages"][-1].text)
        except BaseException as error:
            return handled(error)

    async def arun() -> str:
        try:
            return str((await agent.ainvoke(task))["messages"][-1].text)
        except BaseException as error:
            return handled(error)

    return with_profile(StructuredTool.from_function(run, arun, "helper", "Let an agent do it."), READ)


@pytest.mark.parametrize("how", ["a result", "another error"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_a_worker_that_lost_its_claim_leaves_a_tool_that_catches_everything(
    ran: Recorder, asynchronous: bool, kind: str, how: str
) -> None:
    """While one worker is at the call, another one resumes the same thread with the same answer."""
    gate, swallowed, came, before = ToolGate(), list[BaseException](), list[Any](), list[str]()
    talks: list[Chat] = []

    def rm(x: int) -> str:
        (talk,) = talks
        before.extend(saved(talk))
        came.append(elsewhere(lambda: talk.resume(answer)))
        # Nobody saved anything meanwhile: neither a checkpoint nor a result of the tool.
        came.append(saved(talk) == before)
        ran.runs.append(("rm", {"x": x}))
        return "ran rm"

    async def arm(x: int) -> str:
        return rm(x)

    tool = with_profile(StructuredTool.from_function(rm, arm, "rm", "Remove it."), DANGEROUS)
    if kind == "a GatedAgent":
        agent: Any = GatedAgent(makes(call("rm", "r", x=1)), [tool], gate, name="cleaner")
    else:
        agent = inner(gate, makes(call("rm", "r", x=1)), [tool])
    talk = chat(
        [says(call("helper", "h")), says(text="done")],
        [catching_everything(agent, how, swallowed)],
        gate=gate,
        asynchronous=asynchronous,
    )
    talks.append(talk)
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    swallowed.clear()
    talk.resume(answer)
    lost, untouched = came
    assert isinstance(lost, AlreadyAnsweredError) and untouched is True
    assert [type(error) for error in swallowed] == [type(lost)]
    assert (ran.names, talk.result("h"), forks(talk)) == (["rm"], "inner: ran rm", 0)
