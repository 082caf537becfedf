"""Agents inside of other agents' tools: short builders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Chat, ScriptedModel, says, with_profile
from toolgate_langchain import Tier, ToolGate, ToolProfile
from toolgate_langchain.hosts.langgraph.driving import AnswerResult

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
DANGEROUS = ToolProfile(tier=Tier.CONSEQUENTIAL)

Turn = Callable[[list[BaseMessage]], AIMessage]


def makes(*calls: ToolCall) -> ScriptedModel:
    """A model that makes these calls in one turn for each task that it gets, and then tells what came of them."""

    def turn(messages: list[BaseMessage]) -> AIMessage:
        results = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        return AIMessage(f"inner: {'; '.join(results)}") if results else says(*calls)

    return ScriptedModel(script=[turn] * 50)


def told(name: str) -> ScriptedModel:
    """A model that calls one tool with the task as its argument `x`, under the same call id each time."""

    def turn(messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(f"inner: {messages[-1].content}")
        given = next(message for message in messages if isinstance(message, HumanMessage))
        return says(ToolCall(name=name, args={"x": given.content}, id="same", type="tool_call"))

    return ScriptedModel(script=[turn] * 50)


def inner(
    gate: ToolGate, model: ScriptedModel, tools: Sequence[BaseTool], *, name: str | None = None, **more: Any
) -> Any:
    """An agent that is to run inside of another one, behind the same gate."""
    middleware = more.pop("middleware", None) or [gate.subagent(**more.pop("options", {}))]
    return create_agent(model, list(tools), middleware=middleware, name=name, **more)


def as_tool(agent: Any, name: str = "helper", profile: ToolProfile = READ, config: Any = None) -> BaseTool:
    """A tool in which an agent works on a task."""

    def run(task: str = "go") -> str:
        return str(agent.invoke({"messages": [HumanMessage(task)]}, config)["messages"][-1].content)

    async def arun(task: str = "go") -> str:
        return str((await agent.ainvoke({"messages": [HumanMessage(task)]}, config))["messages"][-1].content)

    return with_profile(StructuredTool.from_function(run, arun, name, "Let an agent do it."), profile)


def answer_all(talk: Chat, kind: str = "approve", **more: Any) -> list[str]:
    """Answer what is pending through the gate until nothing is; the tools that were asked about."""
    asked: list[str] = []
    while talk.requests:
        request = talk.requests[0]
        asked.append(request.tool_name)
        answer = {"type": kind, "request_id": request.request_id, **more}
        if talk.asynchronous:
            result = asyncio.run(_answered(talk, answer))
        else:
            result = talk.gate.answer(talk.agent, talk.config, answer)
        assert result.status == "accepted"
        assert len(asked) < 20
    return asked


async def _answered(talk: Chat, answer: dict[str, Any]) -> AnswerResult:
    return await talk.gate.aanswer(talk.agent, talk.config, answer)
