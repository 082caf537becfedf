"""Hand-written LangGraph graphs, with the gate's asking node and its tool node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from toolgate_langchain.testing.agents import GraphConversation, graph_as_tool
from toolgate_langchain.testing.hosts import CHECKPOINTS, STATE, SUBAGENTS, Setup
from toolgate_langchain.testing.model import ScriptedModel

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from toolgate_langchain.testing.hosts import Host

__all__ = ["GraphHost", "graph_hosts"]


class _State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class GraphHost:
    """Graphs of a model node, the gate's nodes and a tool node.

    Args:
        name: What reports call it.
        asynchronous: Whether to drive them asynchronously.
        one_task: Whether all calls of a turn go to the tool node together, as in LangGraph's own examples.
    """

    abilities = frozenset({CHECKPOINTS, STATE, SUBAGENTS})

    def __init__(self, name: str, *, asynchronous: bool, one_task: bool) -> None:
        self.name, self.asynchronous = name, asynchronous
        self._one_task = one_task

    def start(self, setup: Setup) -> GraphConversation:
        """See `Host.start`."""
        model = setup.model if setup.model is not None else ScriptedModel(script=list(setup.script))
        memory = setup.memory if setup.memory is not None else InMemorySaver()
        graph = self._built(setup, model).compile(checkpointer=memory)
        return GraphConversation(
            graph, model, memory, setup.thread, asynchronous=self.asynchronous, before_tools="gate"
        )

    def as_tool(self, name: str, setup: Setup) -> BaseTool:
        """See `Host.as_tool`."""
        return graph_as_tool(name, self._built(setup, ScriptedModel(script=list(setup.script))).compile())

    def _built(self, setup: Setup, model: Any) -> Any:
        where = {"surface": setup.surface, "caller": setup.caller, "configuration": setup.configuration}
        guard = setup.gate.graph(setup.tools, **where)

        def call_model(state: _State) -> Any:
            return {"messages": [guard.bind(model).invoke(state["messages"])]}

        async def acall_model(state: _State) -> Any:
            return {"messages": [await guard.bind(model).ainvoke(state["messages"])]}

        builder = StateGraph(_State)
        builder.add_node("start", guard.start)
        builder.add_node("model", RunnableLambda(call_model, acall_model))
        builder.add_node("gate", guard.node)
        builder.add_node("tools", guard.tool_node())
        builder.add_edge(START, "start")
        builder.add_edge("start", "model")
        builder.add_edge("model", "gate")
        builder.add_conditional_edges("gate", _all_calls if self._one_task else guard.after_gate())
        builder.add_edge("tools", "model")
        return builder


def _all_calls(state: _State) -> str:
    """To the tools with all calls at once; back to the model where the gate has answered them all."""
    last = state["messages"][-1]
    if isinstance(last, AIMessage):
        return "tools" if last.tool_calls else END
    return "model"


def graph_hosts() -> list[Host]:
    """Both ways to send calls to a tool node, driven synchronously and asynchronously."""
    names = {"a graph, a task for each call": False, "a graph, one task for all calls": True}
    return [
        GraphHost(name, asynchronous=asynchronous, one_task=one_task)
        for name, one_task in names.items()
        for asynchronous in (False, True)
    ]
