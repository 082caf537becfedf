"""Agents that are built into others: compiled ones, and those that a tool starts. Is the gate in them?

A middleware is not inherited. An agent inside of a tool that has none of its own runs whatever its
model calls, so this is looked up instead of believed.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from toolgate_langchain.errors import ConfigurationError, ToolGateWarning
from toolgate_langchain.hosts._langgraph import owners_of_nodes, parts_of, tool_wrappers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["InnerAgents", "compiled_graph", "ungated"]

_LOOKED_AT: Final = 5_000
"""Objects that are looked at in one tool, nearest first, so that a large table in one is not searched for ever."""

_NO_NAME: Final = "LangGraph"
"""What LangGraph calls a graph that was given no name."""

_UNNAMED: Final = "an agent without a name"

_TASK_TOOL: Final = ("deepagents.middleware.subagents", "_build_task_tool.")
"""The tool of deepagents that starts subagents: its module, and the start of its functions' qualified names."""


class InnerAgents:
    """Looks once at each tool that is about to run, for agents that it starts without the gate.

    Args:
        gate: The gate.
    """

    def __init__(self, gate: ToolGate) -> None:
        self._gate = gate
        self._seen: dict[int, BaseTool] = {}

    def check(self, tool: BaseTool | None) -> None:
        """Refuse the subagents of deepagents that the gate is not in, and warn of other agents without it.

        Raises:
            ConfigurationError: Naming the subagents of deepagents that would go around the gate.
        """
        # The tool is kept, so that no other can come to have its id.
        if tool is None or self._seen.get(id(tool)) is tool:
            return
        names = ", ".join(dict.fromkeys(repr(name) for name in _ungated_in(tool, self._gate)))
        if names and _is_task_tool(tool):
            raise ConfigurationError(
                f"the tool {tool.name!r} starts subagents that this gate is not in ({names}); deepagents gives them "
                "none of their parent's middleware: create_deep_agent(subagents=gate.subagents([...]))"
            )
        self._seen[id(tool)] = tool
        if names:
            warnings.warn(
                f"the tool {tool.name!r} starts agents that this gate is not in ({names}), so that whatever they call "
                "runs; build them with create_agent(..., middleware=[gate.subagent()])",
                ToolGateWarning,
                stacklevel=2,
            )


def compiled_graph(runnable: Any) -> Pregel[Any, Any, Any, Any] | None:
    """The compiled graph that a runnable is, below the configs bound to it; `None` where it is something else."""
    while isinstance(runnable, RunnableBindingBase):
        runnable = runnable.bound
    return runnable if isinstance(runnable, Pregel) else None


def ungated(graph: Pregel[Any, Any, Any, Any], gate: ToolGate) -> list[str]:
    """The names of the agents in a compiled graph that a gate is not in: itself, its nodes', its tools'.

    Args:
        graph: The compiled graph. Without tools it is no agent, and nothing of it has to be gated.
        gate: The gate; another one of the same configuration does not count.
    """
    return list(dict.fromkeys(_ungated(graph, gate, {id(graph)})))


def _ungated(graph: Pregel[Any, Any, Any, Any], gate: ToolGate, seen: set[int]) -> Iterator[str]:
    nodes = _tool_nodes(graph)
    if nodes and not _has_gate(graph, gate):
        yield _UNNAMED if graph.name in ("", _NO_NAME) else graph.name
    for _, inner in graph.get_subgraphs():
        if isinstance(inner, Pregel) and id(inner) not in seen:
            seen.add(id(inner))
            yield from _ungated(inner, gate, seen)
    for tool in (tool for node in nodes for tool in node.tools_by_name.values()):
        yield from _ungated_in(tool, gate, seen)


def _tool_nodes(graph: Pregel[Any, Any, Any, Any]) -> list[ToolNode]:
    return [part for node in graph.nodes.values() for part in parts_of(node.bound) if isinstance(part, ToolNode)]


def _ungated_in(tool: BaseTool, gate: ToolGate, seen: set[int] | None = None) -> Iterator[str]:
    seen = set() if seen is None else seen
    for graph in _graphs_held_by(tool):
        if id(graph) not in seen:
            seen.add(id(graph))
            yield from _ungated(graph, gate, seen)


def _has_gate(graph: Pregel[Any, Any, Any, Any], gate: ToolGate) -> bool:
    """Whether runs of an agent start with the gate and every way into its tools leads through it."""
    from toolgate_langchain.hosts.graph import GraphGate
    from toolgate_langchain.hosts.graph_nodes import GateNode
    from toolgate_langchain.hosts.middleware import ToolGateMiddleware

    nodes = (one for one in owners_of_nodes(graph) if isinstance(one, ToolGateMiddleware | GateNode))
    starting = [one.runs for one in nodes if one.gate is gate]
    return bool(starting) and all(
        any(
            isinstance(one, ToolGateMiddleware | GraphGate) and one.runs is starting[0]
            for one in map(_owner, _held_by(hooks))
        )
        for node in _tool_nodes(graph)
        for hooks in tool_wrappers(node)
    )


def _owner(held: object) -> object:
    return held.__self__ if isinstance(held, MethodType) else None


def _graphs_held_by(tool: BaseTool) -> list[Pregel[Any, Any, Any, Any]]:
    return [held for held in _held_by(tool) if isinstance(held, Pregel)]


def _held_by(start: object) -> Iterator[object]:
    """What a function or a tool can reach by its own means: closures, defaults, globals that it names, fields."""
    waiting, seen = deque([start]), {id(start)}
    while waiting and len(seen) <= _LOOKED_AT:
        held = waiting.popleft()
        yield held
        for one in _directly_held_by(held):
            if id(one) not in seen:
                seen.add(id(one))
                waiting.append(one)


def _directly_held_by(held: object) -> Iterator[object]:
    if isinstance(held, FunctionType):
        yield from _of_function(held)
    elif isinstance(held, MethodType):
        yield held.__func__
        yield from vars(held.__self__).values() if hasattr(held.__self__, "__dict__") else ()
    elif isinstance(held, partial):
        yield from (held.func, *held.args, *held.keywords.values())
    elif isinstance(held, Mapping):
        yield from held.values()
    elif isinstance(held, list | tuple | set | frozenset):
        yield from held
    elif isinstance(held, RunnableBindingBase):
        yield held.bound
    elif isinstance(held, BaseTool):
        yield from vars(held).values()
        yield from (held.__pydantic_private__ or {}).values()
        yield from (value for name in ("_run", "_arun") if (value := getattr(type(held), name, None)))


def _of_function(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from (value for name, value in vars(function).items() if name == "__wrapped__")
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        near = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if near or isinstance(value, Runnable | list | tuple | dict):
            yield value


def _is_task_tool(tool: BaseTool) -> bool:
    function: Any = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    module, name = _TASK_TOOL
    return getattr(function, "__module__", "") == module and str(getattr(function, "__qualname__", "")).startswith(name)
