"""Agents that a tool starts: found in what it holds, and refused where the gate is not in them.

A middleware is not inherited. An agent inside of a tool that has none of its own runs whatever its
model calls, so this is looked up instead of believed, before a model is called for the first time. The
operator may accept it, tool by tool: `ToolProfile(ungated_agents=True)`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.catalog.meeting import met_entry
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.inside.holding import held_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.tools import BaseTool

    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["AgentsInside", "agents_held_by", "can_ask", "is_graph", "runs_tools", "ungated_in"]

_GRAPH: Final = ("langgraph.pregel.main", "Pregel")
_GATED_AGENT: Final = ("toolgate_langchain.hosts.gated.agent", "GatedAgent")
_KINDS: Final = (
    _GRAPH,
    _GATED_AGENT,
    ("langgraph.pregel.remote", "RemoteGraph"),
    ("langchain_classic.agents.agent", "AgentExecutor"),
)
"""What runs tools, by its module and name. Where the module was never loaded, there is none."""

_TASK_TOOL: Final = ("deepagents.middleware.subagents", "_build_task_tool.")
"""The tool of deepagents that starts subagents: its module, and the start of its functions' qualified names."""

_LOOKED_AT: Final = 1_024
"""Tools that are remembered as looked at; beyond, they are looked at again."""


class AgentsInside:
    """Looks once at each tool that an agent has, for agents that the tool starts without the gate.

    Args:
        gate: The gate.
    """

    def __init__(self, gate: ToolGate) -> None:
        self._gate = gate
        self._seen: dict[int, BaseTool] = {}

    def check(self, tool: BaseTool | None, held: list[Any] | None = None) -> None:
        """Refuse a tool that starts agents which the gate is not in.

        Args:
            tool: The tool.
            held: What `agents_held_by` found in it just now; left out, it is looked for.

        Raises:
            ConfigurationError: Naming the tool and the agents, and saying what to do.
        """
        # The tool is kept, so that no other can come to have its id.
        if tool is None or self._seen.get(id(tool)) is tool:
            return
        names = ", ".join(dict.fromkeys(repr(name) for name in ungated_in(tool, self._gate, held=held)))
        if names and _is_task_tool(tool):
            raise ConfigurationError(
                f"the tool {tool.name!r} starts subagents that this gate is not in ({names}); deepagents gives them "
                "none of their parent's middleware: create_deep_agent(subagents=gate.subagents([...]))"
            )
        if names:
            raise ConfigurationError(
                f"the tool {tool.name!r} starts agents that this gate is not in ({names}), so that whatever they call "
                "would run; build them with create_agent(..., middleware=[gate.subagent()]) or GatedAgent(..., gate), "
                "or accept it for this tool: ToolProfile(..., ungated_agents=True)"
            )
        if len(self._seen) >= _LOOKED_AT:
            self._seen.clear()
        self._seen[id(tool)] = tool


def ungated_in(
    tool: BaseTool, gate: ToolGate, seen: set[int] | None = None, held: list[Any] | None = None
) -> Iterator[str]:
    """The names of the agents that a tool starts without the gate; none where its profile accepts them.

    Args:
        tool: The tool.
        gate: The gate; another one of the same configuration does not count.
        seen: The ids of agents that were looked at already; those of further ones are added.
        held: What `agents_held_by` found in the tool just now; left out, it is looked for.
    """
    seen = set() if seen is None else seen
    found: list[str] = []
    for agent in agents_held_by(tool) if held is None else held:
        if id(agent) not in seen:
            seen.add(id(agent))
            found += _ungated(agent, gate, seen)
    if found and not _accepted(tool, gate):
        yield from found


def agents_held_by(tool: BaseTool) -> list[Any]:
    """The agents that a tool holds, and graphs, which are agents where they run tools."""
    kinds = tuple(kind for module, name in _KINDS if (kind := _loaded(module, name)) is not None)
    return [held for held in held_by(tool, kinds) if isinstance(held, kinds)]


def _ungated(agent: Any, gate: ToolGate, seen: set[int]) -> Iterator[str]:
    if _is(agent, _GRAPH):
        from toolgate_langchain.hosts.inside.inner_agents import ungated_graphs

        yield from ungated_graphs(agent, gate, seen)
    elif not _is(agent, _GATED_AGENT):
        yield str(getattr(agent, "name", None) or type(agent).__name__)
    elif agent.gate is not gate:
        yield agent.name
    else:
        for tool in agent.tools:
            yield from ungated_in(tool, gate, seen)


def is_graph(agent: object) -> bool:
    """Whether it is a compiled graph of LangGraph."""
    return _is(agent, _GRAPH)


def runs_tools(graph: Any) -> bool:
    """Whether a compiled graph has a tool node, and so is an agent."""
    from toolgate_langchain.hosts.inside.inner_agents import tool_nodes_of

    return bool(tool_nodes_of(graph))


def can_ask(graph: Any, gate: ToolGate) -> bool:
    """Whether a gate that is in a compiled graph may have to ask a person there."""
    from toolgate_langchain.hosts.inside.inner_agents import gates_in

    return any(one.runs.can_ask() for one in gates_in(graph, gate))


def _is(agent: Any, kind: tuple[str, str]) -> bool:
    loaded = _loaded(*kind)
    return loaded is not None and isinstance(agent, loaded)


def _loaded(module: str, name: str) -> type | None:
    kind = getattr(sys.modules.get(module), name, None)
    return kind if isinstance(kind, type) else None


def _accepted(tool: BaseTool, gate: ToolGate) -> bool:
    """Whether the operator wrote that agents in this very tool may be without the gate."""
    known = gate.catalog.get(tool.name)
    entry = known if known is not None and known.tool is tool else met_entry(tool, known, None, None)
    return entry.profile.ungated_agents


def _is_task_tool(tool: BaseTool) -> bool:
    function: Any = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    module, name = _TASK_TOOL
    return getattr(function, "__module__", "") == module and str(getattr(function, "__qualname__", "")).startswith(name)
