"""What `check` finds in a graph beyond its tool nodes: other settings, and tool nodes that functions call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode

from tests.graph.support import State, built
from tests.subagents.support import DANGEROUS
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import Caller, RunConfiguration, Surface, ToolGate, TrustZone
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.graphs.graph import GraphGate

SURFACES = [Surface("chat"), Surface("cron", attended=False)]


def with_both(first: GraphGate, second: GraphGate, *, only: str = "") -> Any:
    """A graph with the parts of two agents, one after the other; of the second all, or only one part."""
    builder = built(first, ScriptedModel())
    parts: dict[str, Any] = {"start": second.start, "gate": second.node, "tools": second.tool_node()}
    for name, part in parts.items():
        if name == only or (not only and name != "start"):
            builder.add_node(f"second {name}", part)
            builder.add_edge("tools", f"second {name}")
            builder.add_edge(f"second {name}", END)
    return builder.compile()


OTHER: dict[str, dict[str, Any]] = {
    "surface": {"surface": "cron"},
    "caller": {"caller": Caller("ann")},
    "configuration": {"configuration": RunConfiguration(tools=("deploy",))},
    "zone": {"zone": TrustZone.LOCAL},
}


@pytest.mark.parametrize("only", ["gate", "tools"])
@pytest.mark.parametrize("setting", OTHER)
def test_two_guards_with_different_settings_in_one_graph_are_refused(setting: str, only: str) -> None:
    ran, gate = Recorder(), ToolGate(surfaces=SURFACES)
    first = gate.graph([ran.tool("deploy")])
    second = gate.graph([ran.tool("other")], **OTHER[setting])
    graph = with_both(first, second, only=only)
    for guard in (first, second) if only == "gate" else (first,):
        with pytest.raises(ConfigurationError, match=rf"with another {setting}.*the same|no node of the graph"):
            guard.check(graph)


def test_two_guards_with_the_same_settings_are_taken() -> None:
    ran, gate = Recorder(), ToolGate(surfaces=SURFACES)
    # A surface is the same by its name and as an object.
    guards = [gate.graph([ran.tool(name)], surface=one) for name, one in (("a", "chat"), ("b", SURFACES[0]))]
    graph = with_both(*guards)
    for guard in guards:
        guard.check(graph)
    given: Callable[[Any], Caller] = lambda _: Caller("ann")  # noqa: E731  # a setting
    guards = [gate.graph([ran.tool(name)], caller=given) for name in ("a", "b")]
    guards[0].check(with_both(*guards))


def test_parts_of_another_gate_in_the_same_graph_are_refused() -> None:
    ran = Recorder()
    first, second = ToolGate().graph([ran.tool("deploy")]), ToolGate().graph([ran.tool("other")])
    with pytest.raises(ConfigurationError, match="the node 'second gate' is of another gate"):
        first.check(with_both(first, second, only="gate"))


def test_an_agent_with_other_settings_may_be_a_graph_of_its_own_in_there() -> None:
    ran, gate = Recorder(), ToolGate(surfaces=SURFACES)
    first, second = gate.graph([ran.tool("deploy")]), gate.graph([ran.tool("other")], surface="cron")
    builder = built(first, ScriptedModel())
    builder.add_node("sub", built(second, ScriptedModel()).compile())
    builder.add_edge("tools", "sub")
    first.check(builder.compile())


def calling(node: ToolNode) -> Any:
    """A graph's node whose function calls a tool node."""

    def run_tools(state: State, config: RunnableConfig) -> Any:
        return node.invoke(state, config)

    return run_tools


def graph_with(guard: GraphGate, function: Any, model: ScriptedModel | None = None) -> Any:
    builder = built(guard, ScriptedModel() if model is None else model, sends=False)
    builder.nodes.pop("tools")
    builder.add_node("tools", function)
    return builder


IN_A_GLOBAL: ToolNode = ToolNode([Recorder().tool("deploy")])


def test_a_tool_node_that_a_nodes_own_function_calls_is_found() -> None:
    tool = Recorder().tool("deploy")
    guard = ToolGate().graph([tool])
    loose = ToolNode([tool])

    class Service:
        def __init__(self) -> None:
            self.node = loose

        def run(self, state: State) -> Any:
            return self.node.invoke(state)

    def through_a_global(state: State) -> Any:
        return IN_A_GLOBAL.invoke(state)

    async def awaited(state: State) -> Any:
        return await loose.ainvoke(state)

    for function in (calling(loose), Service().run, through_a_global, awaited):
        with pytest.raises(ConfigurationError, match="tool node 'tools' runs calls without asking this gate"):
            guard.check(graph_with(guard, function).compile())


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_guarded_tool_node_that_a_nodes_own_function_calls_is_taken_and_enforces(asynchronous: bool) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    ran, gate = Recorder(), ToolGate()
    guard, model = gate.graph([ran.tool("deploy", DANGEROUS)]), ScriptedModel(script=[says(call("deploy", "a"))])
    graph = graph_with(guard, calling(guard.tool_node()), model).compile(checkpointer=InMemorySaver())
    guard.check(graph)
    chat = Chat(graph, model, gate, asynchronous=asynchronous)
    chat.say()
    assert ran.names == []
    chat.answer()
    assert ran.names == ["deploy"] and chat.result("a") == "ran deploy"


def test_one_that_is_built_inside_of_a_function_cannot_be_found_and_can_be_declared() -> None:
    tool = Recorder().tool("deploy")
    guard = ToolGate().graph([tool])

    def run_tools(state: State) -> Any:
        return ToolNode([tool]).invoke(state)

    graph = graph_with(guard, run_tools).compile()
    guard.check(graph)  # not found: its documentation says so
    with pytest.raises(ConfigurationError, match=r"the tool node 'tool_nodes\[0\]' runs calls without asking"):
        guard.check(graph, tool_nodes=[ToolNode([tool])])
    guard.check(graph, tool_nodes=[guard.tool_node()])


def test_a_graph_whose_functions_only_bind_tools_is_taken() -> None:
    guard = ToolGate().graph([Recorder().tool("deploy")])
    model = ScriptedModel()

    def call_model(state: State) -> Any:
        return {"messages": [guard.bind(model).invoke(state["messages"])]}

    builder = StateGraph(State)
    builder.add_node("start", guard.start)
    builder.add_node("model", call_model)
    builder.add_node("gate", guard.node)
    builder.add_node("tools", guard.tool_node())
    builder.add_edge(START, "start")
    builder.add_edge("start", "model")
    builder.add_edge("model", "gate")
    builder.add_conditional_edges("gate", guard.after_gate())
    builder.add_edge("tools", "model")
    guard.check(builder.compile())
