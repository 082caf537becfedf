"""`GatedAgent`s inside of `GatedAgent`s' tools: short builders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.agent.talking import CONSEQUENTIAL, READ
from tests.support import Recorder, ScriptedModel, says, with_profile
from toolgate_langchain import GatedAgent, ToolGate, ToolProfile


def makes(*calls: ToolCall) -> ScriptedModel:
    """A model that makes these calls for each task that it gets, and then tells what came of them."""

    def turn(messages: list[BaseMessage]) -> AIMessage:
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        return AIMessage(f"inner: {'; '.join(results)}") if results else says(*calls)

    return ScriptedModel(script=[turn] * 50)


def as_tool(
    agent: GatedAgent, name: str = "helper", profile: ToolProfile = READ, entered: list[str] | None = None
) -> BaseTool:
    """A tool in which an agent works on a task; notes each time that it is entered."""

    def run(task: str = "go") -> str:
        if entered is not None:
            entered.append(name)
        return agent.invoke(task)["messages"][-1].text

    async def arun(task: str = "go") -> str:
        if entered is not None:
            entered.append(name)
        return (await agent.ainvoke(task))["messages"][-1].text

    return with_profile(StructuredTool.from_function(run, arun, name, "Let an agent do it."), profile)


def cleaner(gate: ToolGate, ran: Recorder, *calls: ToolCall, **options: Any) -> GatedAgent:
    """An agent with a tool that removes things."""
    tools: Sequence[BaseTool] = [ran.tool("rm", CONSEQUENTIAL), ran.tool("look", READ)]
    return GatedAgent(makes(*calls), tools, gate, name=options.pop("name", "cleaner"), **options)
