"""Whether a compiled graph is behind its gate: what can be seen of that before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.graph import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.graphs.nodes import AskingNode, GateNode, StartingNode
from toolgate_langchain.hosts.inside.holding import held_by
from toolgate_langchain.hosts.langgraph.internals import first_nodes_of, nodes_of, parts_of, tool_wrappers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.hosts.graphs.graph import GraphGate
    from toolgate_langchain.hosts.graphs.state import GraphRuns

__all__ = ["check_graph"]


def check_graph(guard: GraphGate, graph: Any, tool_nodes: Sequence[ToolNode] = ()) -> None:
    """Look whether a compiled graph is behind a gate.

    Args:
        guard: What was made of the gate for the graph.
        graph: The compiled graph.
        tool_nodes: Tool nodes that functions of the graph call and that cannot be seen in them.

    Raises:
        ConfigurationError: Naming the node and what to do.
    """
    nodes = nodes_of(graph)
    asking = [node for node in nodes.values() if isinstance(node, AskingNode) and node.runs is guard.runs]
    if not asking and guard.runs.can_ask():
        raise ConfigurationError(
            'no node of the graph asks about calls, so all that need a person would be refused: add_node("gate", '
            "guard.node) between the model and its tools"
        )
    for name, node in nodes.items():
        if isinstance(node, GateNode):
            _check_settings(guard, node.runs, f"the node {name!r}")
    # Where one graph has parts for several agents, the run that one of them starts is the run of all.
    starting = {name for name, node in nodes.items() if isinstance(node, StartingNode) and node.gate is guard.gate}
    if guard.runs.read_at_start and not starting:
        raise ConfigurationError(
            f"{', '.join(guard.runs.read_at_start)} of gate.graph(...) is a function, which is read where a run "
            'starts, and no node starts runs: add_node("start", guard.start) as the first one'
        )
    if starting and (others := sorted(first_nodes_of(graph) - starting)):
        raise ConfigurationError(
            f"the graph can begin at {', '.join(map(repr, others))} without starting a run; let the edges from "
            f"{START!r} lead to {sorted(starting)[0]!r} alone"
        )
    _check_tool_nodes(guard, nodes, "")
    for place, tool_node in enumerate(tool_nodes):
        _check_tool_node(guard, tool_node, f"tool_nodes[{place}]", same_graph=True)


def _check_settings(guard: GraphGate, runs: GraphRuns, where: str) -> None:
    """Refuse parts of two gates, or of one gate with two settings, in one graph: its run can have only one of them."""
    if runs.gate is not guard.gate:
        raise ConfigurationError(
            f"{where} is of another gate, whose verdicts would stand in the same place of the state; make the parts of "
            "one graph of one gate"
        )
    if differing := guard.runs.differing(runs):
        raise ConfigurationError(
            f"{where} was made by a gate.graph(...) with another {', '.join(differing)}, and one run holds for all "
            "agents of a graph; give each gate.graph(...) of it the same settings, or make one agent a graph of its "
            "own that is a node of this one"
        )


def _check_tool_nodes(guard: GraphGate, nodes: dict[str, Any], inside: str) -> None:
    for name, node in nodes.items():
        called = [held for held in held_by(node, (ToolNode, Pregel)) if isinstance(held, ToolNode)]
        parts = {id(part): part for part in (*parts_of(node), *called)}
        for part in parts.values():
            if isinstance(part, CompiledStateGraph):
                _check_tool_nodes(guard, nodes_of(part), f"{inside}{name}:")
            elif isinstance(part, ToolNode):
                _check_tool_node(guard, part, f"{inside}{name}", same_graph=not inside)


def _check_tool_node(guard: GraphGate, node: ToolNode, name: str, *, same_graph: bool) -> None:
    from toolgate_langchain.hosts.graphs.graph import GraphGate

    wrapped, awrapped = tool_wrappers(node)
    owner = getattr(wrapped, "__self__", None)
    ours = isinstance(owner, GraphGate) and owner.gate is guard.gate and wrapped == owner.enforce
    if not ours or not isinstance(owner, GraphGate) or awrapped not in (None, owner.aenforce):
        raise ConfigurationError(
            f"the tool node {name!r} runs calls without asking this gate; use guard.tool_node(), or "
            "ToolNode(tools, wrap_tool_call=guard.enforce, awrap_tool_call=guard.aenforce)"
        )
    if same_graph:
        _check_settings(guard, owner.runs, f"the tool node {name!r}")
    known = {tool.name: tool for tool in owner.tools}
    if known.keys() != node.tools_by_name.keys() or any(
        known[key] is not one for key, one in node.tools_by_name.items()
    ):
        differing = sorted(
            {*known, *node.tools_by_name} - {key for key, one in node.tools_by_name.items() if known.get(key) is one}
        )
        raise ConfigurationError(
            f"the tool node {name!r} and gate.graph(tools) have other tools ({', '.join(map(repr, differing))}); give "
            "both the same ones, as guard.tool_node() does"
        )
