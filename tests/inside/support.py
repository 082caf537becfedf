"""`GatedAgent`s inside of tools of LangGraph's agents and graphs: short builders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from tests.agent.talking import CONSEQUENTIAL
from tests.graph.support import graph_chat
from tests.support import Chat, Recorder, ScriptedModel, Turn, chat, says
from toolgate_langchain import GatedAgent, ToolGate, ToolGateMiddleware


class Passes(AgentMiddleware[Any, Any, Any]):
    """Stands around the tools, and changes nothing."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(request)


FORMS: dict[str, Callable[[ToolGate], list[Any]]] = {
    "in the loop": lambda gate: [ToolGateMiddleware(gate)],
    "when needed": lambda gate: list(gate.around()),
    "around others": lambda gate: list(gate.around([Passes()])),
}
GRAPHS = {"a graph": True, "a graph with all calls in one task": False}


def outer(
    form: str, script: Iterable[Turn], tools: Sequence[BaseTool], gate: ToolGate, *, asynchronous: bool, **more: Any
) -> Chat:
    """An agent of LangGraph's in any form of the gate, or a hand-written graph."""
    if form in GRAPHS:
        return graph_chat(script, tools, gate=gate, sends=GRAPHS[form], asynchronous=asynchronous, **more)
    return chat(script, tools, gate=gate, middleware=FORMS[form](gate), asynchronous=asynchronous, **more)


def does_as_told(gate: ToolGate, ran: Recorder, **options: Any) -> GatedAgent:
    """An agent that calls `rm` with its task as the argument `x`, under the same call id each time."""

    def turn(messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(f"inner: {messages[-1].text}")
        given = next(message for message in messages if isinstance(message, HumanMessage))
        return says(ToolCall(name="rm", args={"x": str(given.content)}, id="same", type="tool_call"))

    model = ScriptedModel(script=[turn] * 50)
    return GatedAgent(model, [ran.tool("rm", CONSEQUENTIAL)], gate, name=options.pop("name", "cleaner"), **options)


def answer_one(talk: Chat, kind: str, **arguments: Any) -> None:
    """Answer the one of several pending requests that has these arguments, by the id of its interrupt."""
    for one in talk.agent.get_state(talk.config).interrupts:
        if one.value["action_requests"][0]["args"] == arguments:
            request_id = one.value["toolgate"]["request_id"]
            talk.resume({one.id: {"type": kind, "request_id": request_id}})
            return
    raise AssertionError(f"no request has {arguments}")
