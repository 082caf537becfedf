"""Hand-written graphs behind the gate: the model's words are scripted, all else is real."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.support import Chat, Recorder, ScriptedModel, Turn
from toolgate_langchain import ToolGate, ToolProfile
from toolgate_langchain.hosts.graphs.graph import GraphGate


class State(TypedDict):
    """The state of a graph as a team writes it."""

    messages: Annotated[list[AnyMessage], add_messages]


def calls_are_made(state: State) -> str:
    """The routing that LangGraph's own examples have: all calls of the turn go to one task of the tool node."""
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else END


def built(guard: GraphGate, model: ScriptedModel, *, sends: bool = True, start: bool = True) -> Any:
    """A model node, the asking node and a tool node.

    Args:
        guard: The gate's parts.
        model: The model.
        sends: Whether each call is sent to the tools in a task of its own; else all are in one.
        start: Whether a node starts the run.
    """

    def call_model(state: State) -> Any:
        return {"messages": [guard.bind(model).invoke(state["messages"])]}

    async def acall_model(state: State) -> Any:
        return {"messages": [await guard.bind(model).ainvoke(state["messages"])]}

    from langchain_core.runnables import RunnableLambda

    builder = StateGraph(State)
    builder.add_node("model", RunnableLambda(call_model, acall_model))
    builder.add_node("gate", guard.node)
    builder.add_node("tools", guard.tool_node())
    if start:
        builder.add_node("start", guard.start)
        builder.add_edge(START, "start")
        builder.add_edge("start", "model")
    else:
        builder.add_edge(START, "model")
    builder.add_edge("model", "gate")
    builder.add_conditional_edges("gate", guard.after_gate() if sends else calls_are_made)
    builder.add_edge("tools", "model")
    return builder


def graph_chat(
    script: Iterable[Turn],
    tools: Sequence[BaseTool],
    *,
    gate: ToolGate | None = None,
    sends: bool = True,
    start: bool = True,
    checkpointer: Any = None,
    thread: str = "thread",
    asynchronous: bool = False,
    **options: Any,
) -> Chat:
    """A graph on one thread, driven answer by answer; see `built`."""
    model, gate = ScriptedModel(script=list(script)), gate or ToolGate()
    guard = gate.graph(tools, **options)
    graph = built(guard, model, sends=sends, start=start).compile(checkpointer=checkpointer or InMemorySaver())
    guard.check(graph)
    return Chat(graph, model, gate, thread, asynchronous)


def asks_inside(ran: Recorder, name: str, profile: ToolProfile | None = None) -> BaseTool:
    """A tool that pauses by itself and notes what it was told."""
    from langchain_core.tools import StructuredTool

    from tests.support import with_profile

    def run(**_: Any) -> str:
        told = interrupt({"question": name})
        ran.runs.append((name, {"told": told}))
        return f"told {told}"

    async def arun(**kwargs: Any) -> str:
        return run(**kwargs)

    made = StructuredTool(
        name=name,
        description="Asks.",
        func=run,
        coroutine=arun,
        args_schema={"type": "object", "properties": {}},
    )
    return made if profile is None else with_profile(made, profile)


__all__ = ["State", "ToolNode", "asks_inside", "built", "calls_are_made", "graph_chat"]
