"""Compiled graphs that run tools: is the gate in them, and in all agents that they start in turn?"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables.base import RunnableBindingBase
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from toolgate_langchain.hosts.inside.agents_inside import ungated_in
from toolgate_langchain.hosts.inside.holding import held_by
from toolgate_langchain.hosts.langgraph.internals import owners_of_nodes, parts_of, tool_wrappers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["compiled_graph", "gates_in", "tool_nodes_of", "ungated", "ungated_graphs"]

_Graph = Pregel[Any, Any, Any, Any]

_NO_NAME: Final = "LangGraph"
"""What LangGraph calls a graph that was given no name."""

_UNNAMED: Final = "an agent without a name"


def compiled_graph(runnable: Any) -> _Graph | None:
    """The compiled graph that a runnable is, below the configs bound to it; `None` where it is something else."""
    while isinstance(runnable, RunnableBindingBase):
        runnable = runnable.bound
    return runnable if isinstance(runnable, Pregel) else None


def ungated(graph: _Graph, gate: ToolGate) -> list[str]:
    """The names of the agents in a compiled graph that a gate is not in: itself, its nodes', its tools'.

    Args:
        graph: The compiled graph. Without tools it is no agent, and nothing of it has to be gated.
        gate: The gate; another one of the same configuration does not count.
    """
    return list(dict.fromkeys(ungated_graphs(graph, gate, {id(graph)})))


def ungated_graphs(graph: _Graph, gate: ToolGate, seen: set[int]) -> Iterator[str]:
    """As `ungated`, with the ids of what was looked at already, to which further ones are added."""
    nodes = tool_nodes_of(graph)
    if nodes and not _has_gate(graph, nodes, gate):
        yield _UNNAMED if graph.name in ("", _NO_NAME) else graph.name
    for _, inner in graph.get_subgraphs():
        if isinstance(inner, Pregel) and id(inner) not in seen:
            seen.add(id(inner))
            yield from ungated_graphs(inner, gate, seen)
    for tool in (tool for node in nodes for tool in node.tools_by_name.values()):
        yield from ungated_in(tool, gate, seen)


def tool_nodes_of(graph: _Graph) -> list[ToolNode]:
    """The tool nodes of a compiled graph, also those that a node's function holds."""
    found = [part for node in graph.nodes.values() for part in parts_of(node.bound) if isinstance(part, ToolNode)]
    for node in graph.nodes.values():
        found += [held for held in held_by(node.bound, (ToolNode, Pregel)) if isinstance(held, ToolNode)]
    return list({id(node): node for node in found}.values())


def gates_in(graph: _Graph, gate: ToolGate) -> list[Any]:
    """The parts of a gate that start a graph's runs, or ask in it; each has `runs`."""
    from toolgate_langchain.hosts.graphs.nodes import GateNode
    from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware

    nodes = (one for one in owners_of_nodes(graph) if isinstance(one, ToolGateMiddleware | GateNode))
    return [one for one in nodes if one.gate is gate]


def _has_gate(graph: _Graph, nodes: list[ToolNode], gate: ToolGate) -> bool:
    """Whether runs of an agent start with the gate and every way into its tools leads through it."""
    from toolgate_langchain.hosts.graphs.graph import GraphGate
    from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware

    starting = [one.runs for one in gates_in(graph, gate)]
    return bool(starting) and all(
        any(
            isinstance(one, ToolGateMiddleware | GraphGate) and one.runs is starting[0]
            for one in map(_owner, held_by(hooks))
        )
        for node in nodes
        for hooks in tool_wrappers(node)
    )


def _owner(held: object) -> object:
    return held.__self__ if isinstance(held, MethodType) else None
