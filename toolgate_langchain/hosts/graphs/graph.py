"""The gate in a hand-written LangGraph graph: a node that asks, and what only enforces around a `ToolNode`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableGenerator
from langgraph.config import get_config
from langgraph.graph import END
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send

from toolgate_langchain.catalog.checks import as_tool, listed
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.calls import answered_after, last_ai_message, without_unstorable_calls
from toolgate_langchain.hosts.engine.offering import Offering
from toolgate_langchain.hosts.graphs.check import check_graph
from toolgate_langchain.hosts.graphs.nodes import AskingNode, StartingNode
from toolgate_langchain.hosts.graphs.state import GraphRuns, schema_with_channels
from toolgate_langchain.hosts.graphs.turns import GraphTurns
from toolgate_langchain.hosts.inside.agents_inside import AgentsInside
from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from langchain_core.messages import BaseMessage, ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.langgraph.runs import Setting

__all__ = ["GraphGate"]


class GraphGate:
    """What one hand-written graph needs of a gate; made by `ToolGate.graph`.

    The parts go into the graph as they are::

        guard = gate.graph(tools, surface="chat")
        builder.add_node("start", guard.start)
        builder.add_node("model", call_model)  # binds guard.offered(), or calls guard.bind(model)
        builder.add_node("gate", guard.node)
        builder.add_node("tools", guard.tool_node())
        builder.add_edge(START, "start")
        builder.add_edge("start", "model")
        builder.add_edge("model", "gate")
        builder.add_conditional_edges("gate", guard.after_gate("tools", "model"))
        builder.add_edge("tools", "model")

    Args:
        gate: The gate.
        tools: The tools of the graph's tool nodes.
        surface: Where the graph is driven from, as for `ToolGateMiddleware`, like the three that follow.
        caller: For whom.
        configuration: What runs may use.
        zone: Where the run's models run.
        messages_key: Where the graph's state has its messages. They need the reducer `add_messages`.
        state: The class of the graph's state. Needed only where a routing function behind the asking
            node reads more than the messages and does not say which class of state it takes.

    Raises:
        ConfigurationError: (a `ValueError`) for values that the gate does not know, and for a tool that starts
            agents without it.
    """

    def __init__(
        self,
        gate: ToolGate,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        surface: Setting = "chat",
        caller: Setting = None,
        configuration: Setting = None,
        zone: Setting = None,
        messages_key: str = "messages",
        state: type | None = None,
    ) -> None:
        self.gate = gate
        self.tools = tuple(map(as_tool, listed("tools", tools)))
        if not isinstance(messages_key, str) or not messages_key:
            raise ConfigurationError(f"messages_key is {messages_key!r}; it must be the name of a channel")
        if state is not None and not isinstance(state, type):
            raise ConfigurationError(f"state is {state!r}; it must be the class of the graph's state")
        inside = AgentsInside(gate)
        for one in self.tools:
            inside.check(one)
        self.messages_key = messages_key
        runs = GraphRuns(gate, messages_key, surface=surface, caller=caller, configuration=configuration, zone=zone)
        runs.meet_all(self.tools)
        self.runs, self._offering = runs, Offering(runs)
        self._last_step = ToolGateMiddleware(gate, surface=next(iter(gate.surfaces)))
        self._last_step.work_with(runs)
        schema = schema_with_channels(state, messages_key)
        self.start = StartingNode(runs, schema)
        """The first node. Without it a whole thread is one run, no setting may be a function, and what the user
        writes while a request is pending closes no request: its calls stay without results."""
        self.node = AskingNode(runs, schema, GraphTurns(runs))
        """The asking node, between the model and its tools: it judges the turn as a whole, asks about one
        call at a time with `interrupt()`, and saves what was answered."""

    # --- offering -----------------------------------------------------------------------------

    def offered(self, config: RunnableConfig | None = None) -> list[BaseTool]:
        """The tools that the gate offers in the run; called in the model's node.

        Args:
            config: The node's config; left out, that of the node that runs.
        """
        seen = self.runs.see(get_config() if config is None else config)
        context = self.runs.run_of(seen.state, seen.runtime).context
        return list(self._offering.offered(self.tools, context))

    def bind(self, model: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """A model with those tools alone that the gate offers in the run; called in the model's node.

        Calls whose arguments no checkpointer can carry are made invalid ones in what `invoke` gives, and
        the model gets them back with an error. A stream is passed on as it comes.

        Args:
            model: A chat model without tools.
            config: The node's config; left out, that of the node that runs.
            **options: What `bind_tools` takes.

        Raises:
            ConfigurationError: If the model brings tools along.
        """
        self._offering.check_bound(model)
        offered = self.offered(config)
        return (model.bind_tools(offered, **options) if offered else model) | _CARRIED

    # --- routing ------------------------------------------------------------------------------

    def after_gate(self, tools: str = "tools", model: str = "model", end: str = END) -> Callable[[Any], Any]:
        """Where to go from the asking node: each open call to the tools, in a task of its own.

        A call that pauses or fails then leaves its siblings' results with LangGraph, which keeps them.

        Args:
            tools: The name of the tool node.
            model: Where a turn goes on whose calls have all had their answer without running.
            end: Where to go when the model made no calls.
        """

        def route(state: Any) -> Any:
            messages: Sequence[BaseMessage] = (
                state[self.messages_key] if isinstance(state, dict) else getattr(state, self.messages_key)
            )
            message = last_ai_message(messages)
            if message is None or not (message.tool_calls or message.invalid_tool_calls):
                return end
            answered = answered_after(messages, message)
            left = [call for call in message.tool_calls if call["id"] not in answered]
            return [Send(tools, [call]) for call in left] if left else model

        return route

    # --- enforcing ----------------------------------------------------------------------------

    def tool_node(self, **options: Any) -> ToolNode:
        """A `ToolNode` with the graph's tools that only runs what the gate lets run.

        Args:
            **options: What `ToolNode` takes besides.
        """
        return ToolNode(
            list(self.tools),
            messages_key=self.messages_key,
            wrap_tool_call=self.enforce,
            awrap_tool_call=self.aenforce,
            **options,
        )

    def enforce(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Check one call for the last time and let it run, or give its refusal. Never asks.

        For `ToolNode(tools, wrap_tool_call=guard.enforce, awrap_tool_call=guard.aenforce)`.
        """
        siblings = self.runs.siblings
        kept: ToolMessage | Command[Any] | None = siblings.result(request)
        if kept is not None:
            return kept
        try:
            result = self._last_step.wrap_tool_call(self._with_state(request), handler)
        except BaseException:
            siblings.leave(request)
            raise
        siblings.keep(request, result)
        return result

    async def aenforce(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """As `enforce`, for asynchronous runs."""
        siblings = self.runs.siblings
        kept: ToolMessage | Command[Any] | None = siblings.result(request)
        if kept is not None:
            return kept
        running = siblings.enter(request)
        try:
            result: ToolMessage | Command[Any] = await self._last_step.awrap_tool_call(
                self._with_state(request), handler
            )
            siblings.keep(request, result)
        except asyncio.CancelledError:
            siblings.leave(request)
            raise
        except BaseException:
            siblings.leave(request)
            siblings.exit(request, running)
            await siblings.others(request)
            raise
        finally:
            siblings.exit(request, running)
        return result

    def _with_state(self, request: ToolCallRequest) -> ToolCallRequest:
        """The request with the graph's state, whatever the tool node was given as its input."""
        seen = self.runs.see(request.runtime.config, request.runtime)
        # Not `override`, which would give the tool another state as well.
        return replace(request, state=seen.state)

    # --- checking -----------------------------------------------------------------------------

    def check(self, graph: Any, *, tool_nodes: Sequence[ToolNode] = ()) -> None:
        """Look whether a compiled graph is behind this gate.

        A tool node without the gate, or a node that calls tools by itself, cannot be seen by the gate when
        it runs. The first is found here, as a node or in what a node's function holds; one that is built
        inside of a function is to be declared. The second, `tool.invoke(...)`, cannot be found.

        Args:
            graph: The compiled graph; graphs that are its nodes are looked at as well.
            tool_nodes: Tool nodes that functions of the graph call and that cannot be seen in them.

        Raises:
            ConfigurationError: Naming the node and what to do. Also for parts of another gate, or of this one
                with other settings, in the same graph.
        """
        check_graph(self, graph, tool_nodes)


def _carried(messages: Iterator[Any]) -> Iterator[Any]:
    """Replies that a checkpointer can keep: it is asked to before the gate's own node sees them."""
    for message in messages:
        whole = isinstance(message, AIMessage) and not isinstance(message, AIMessageChunk)
        yield without_unstorable_calls(message) if whole else message


async def _acarried(messages: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for message in messages:
        for one in _carried(iter([message])):
            yield one


_CARRIED: Final = RunnableGenerator(_carried, _acarried, name="toolgate:carried")
