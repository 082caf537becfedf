"""Agents that the tests of `toolgate run` name. The only fake is the model's words."""

from __future__ import annotations

from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from tests.support import ScriptedModel, call, says
from toolgate_langchain import Surface, Tier, ToolGate, ToolGateMiddleware, tool_profile


@tool_profile(tier=Tier.READ_ONLY)
@tool
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


@tool_profile(tier=Tier.CONSEQUENTIAL)
@tool
def drop(table: str) -> str:
    """Drop a table."""
    return f"dropped {table}"


async def _only_async(table: str) -> str:
    return f"dropped {table}"


def _agent(*, checkpointer: bool = True, gate: ToolGate | None = None, surface: str = "chat", **more: Any) -> Any:
    script = [
        says(call("look", where="the\x1b[31mcellar")),
        says(call("drop", table="users")),
        AIMessage("all \x1b[2Jdone"),
    ]
    tools: list[BaseTool] = more.get("tools", [look, drop])
    return create_agent(
        ScriptedModel(script=script),
        tools,
        middleware=more.get("middleware", [ToolGateMiddleware(gate, surface=surface)]),
        checkpointer=InMemorySaver() if checkpointer else None,
    )


agent = _agent()


def make() -> Any:
    """A function without arguments."""
    return _agent()


def around() -> Any:
    """A gate in two parts, of which each call is told once."""
    return _agent(middleware=ToolGate().around([]))


def unattended() -> Any:
    """Nobody is ever asked, so no question has to be kept."""
    return _agent(checkpointer=False, gate=ToolGate(surfaces=[Surface("cron", attended=False)]), surface="cron")


def without_checkpointer() -> Any:
    """A question could not be kept."""
    return _agent(checkpointer=False)


def ungated() -> Any:
    """No gate at all."""
    return _agent(middleware=[])


def only_async() -> Any:
    """Its tool has no synchronous side, as tools of remote servers have none."""
    drop_async = StructuredTool.from_function(coroutine=_only_async, name="drop", description="Drop a table.")
    return _agent(tools=[look, drop_async])


def failing() -> Any:
    """A tool that raises."""

    @tool_profile(tier=Tier.READ_ONLY)
    @tool
    def look(where: str) -> str:
        """Look somewhere."""
        raise RuntimeError(f"cannot look in {where!r}")

    return _agent(tools=[look, drop])


class _State(TypedDict):
    text: str


def waiting() -> Any:
    """Pauses for something that is no approval."""

    def ask(state: _State) -> _State:
        return {"text": interrupt("which colour?")}

    graph = StateGraph(_State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=InMemorySaver())


def with_an_argument(name: str) -> Any:
    """Cannot be called without arguments."""
    return name


async def coroutine() -> Any:
    """Gives no agent when called."""
    return _agent()


def no_agent() -> str:
    """Gives text."""
    return "agent"


text = "agent"
