"""What the nodes of a hand-written graph see of its state, and the channels that the gate adds to it.

The gate's nodes bring their channels along: LangGraph takes them from what a node says it reads. So they
belong neither to the graph's input nor to its output, and nobody has to write them into a state's class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, get_origin, get_type_hints

from langchain_core.messages import AIMessage
from langgraph.runtime import get_runtime
from typing_extensions import TypedDict

from toolgate_langchain.canonical import digest
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.calls import last_ai_message
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, TURN, write_run
from toolgate_langchain.hosts.engine.superseding import LeftBehind
from toolgate_langchain.hosts.graphs.siblings import Siblings
from toolgate_langchain.hosts.langgraph.internals import state_of
from toolgate_langchain.hosts.langgraph.runs import AgentRuns, Setting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from langchain_core.messages import BaseMessage, ToolMessage
    from langgraph.runtime import Runtime

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["GraphRuns", "Seen", "schema_with_channels"]


def schema_with_channels(state: Any, messages_key: str) -> Any:
    """What the gate's nodes read: the graph's own state, as far as it is known, and the gate's channels.

    Args:
        state: The class of the graph's state, or `None`.
        messages_key: Where its messages are.
    """
    fields: dict[str, Any] = {messages_key: list}
    for name, hint in ({} if state is None else get_type_hints(state, include_extras=True)).items():
        if get_origin(hint) is not ClassVar and not name.startswith("_"):
            fields[name] = hint
    fields |= dict.fromkeys((RUN, TURN, RULES), dict[str, Any])
    return TypedDict("ToolGateGraphState", fields, total=False)  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of the running graph: as it is, and as the gate's parts read it."""

    values: Mapping[str, Any]
    """As the graph has it."""
    state: Mapping[str, Any]
    """With the messages under `messages`, and with a run."""
    runtime: Any


class GraphRuns(AgentRuns):
    """The runs of one hand-written graph.

    Args:
        gate: The gate.
        messages_key: Where the graph's state has its messages.
        **settings: `surface`, `caller`, `configuration` and `zone`, as for `AgentRuns`.
    """

    _built = ("graph", "compile")

    def __init__(self, gate: ToolGate, messages_key: str, **settings: Setting) -> None:
        super().__init__(gate, **settings)
        self.messages_key = messages_key
        self.siblings = Siblings()
        """What is kept of the calls of the graph's tool nodes."""
        self._settings = {**settings, "surface": _surface_of(gate, settings.get("surface"))}
        self.read_at_start = sorted(name for name, setting in settings.items() if callable(setting))
        """The settings that are functions, and so can only be read where a run starts."""

    def differing(self, other: GraphRuns) -> list[str]:
        """The settings that other runs of the same gate were given differently, by name."""
        names = sorted({*self._settings, *other._settings})
        return [name for name in names if self._settings.get(name) != other._settings.get(name)]

    def see(self, config: Mapping[str, Any], runtime: Any = None, *, starting: bool = False) -> Seen:
        """The state of the graph that runs.

        Args:
            config: The config of the running node.
            runtime: Its runtime, where that is known already.
            starting: Whether a run starts here.

        Raises:
            ConfigurationError: If the graph has no such messages or not the gate's channels, or no node
                starts its runs although the settings want one.
            MissingCheckpointerError: If a person may have to be asked and nothing can keep the question.
        """
        values = state_of(config)
        if self.messages_key not in values or TURN not in values:
            raise ConfigurationError(
                f"the graph's state has no {self.messages_key!r} and channels of the gate side by side; its state must "
                "have named keys, messages_key must name the one with the messages, and the asking node of this gate "
                "must be in the same graph as the tools"
            )
        runtime = get_runtime() if runtime is None else runtime
        state = {**values, "messages": values[self.messages_key] or []}
        if not values.get(RUN) and not starting:
            state[RUN] = write_run(self._run_without_start(state, runtime))
        return Seen(values, state, runtime)

    def _run_without_start(self, state: Mapping[str, Any], runtime: Any) -> Run:
        """The run of a graph without a node that starts it: one for the whole thread."""
        if self.flow.on:
            raise ConfigurationError(
                "a policy needs to know what the person's own words are (FlowPolicy), which is noted where a run "
                'starts; put the starting node first: add_node("start", guard.start), add_edge(START, "start")'
            )
        if self.read_at_start:
            raise ConfigurationError(
                f"{', '.join(self.read_at_start)} of gate.graph(...) is a function, which is read where a run starts; "
                'put the starting node first: add_node("start", guard.start), add_edge(START, "start")'
            )
        context = self.context(runtime)
        self.check_checkpointer(context.surface)
        if context.surface.attended:
            self._check_questions_arrive()
        run = self.new_run(context, runtime)
        first = str(state["messages"][0].id) if state["messages"] else ""
        # Derived, so that every node and every replay has the same run without anything being saved.
        if run.start:
            return replace(run, start=digest("toolgate:start:1", run.id, run.thread_id, first)[:32])
        return replace(run, id=digest("toolgate:thread:1", run.thread_id, "" if run.thread_id else first)[:32])

    def begin(self, state: Mapping[str, Any], runtime: Runtime[Any], *, asynchronous: bool) -> Steps[dict[str, Any]]:
        """As `AgentRuns.begin`; a turn that still waits is saved with the asking node, not in the state."""
        message = last_ai_message(state["messages"])
        if message is not None and message.tool_calls:
            # Whether or not they have results: those may be of a screen's own making.
            left: LeftBehind = yield partial(self._left_behind, runtime, asynchronous=asynchronous)
            if left.interrupted and left.judged is not None:
                told = left.judged.get("messages", ())
                messages = _as_judged(state["messages"], told)
                state = {**state, TURN: left.judged[TURN], "messages": messages}
        return (yield from super().begin(state, runtime, asynchronous=asynchronous))

    def _left_behind(self, runtime: Any, *, asynchronous: bool) -> LeftBehind | Awaitable[LeftBehind]:
        """What the interrupted step left behind, with the results of calls that ran beside the one that waited."""
        kept, left = (
            self.siblings.results_of(self.thread_of(runtime)),
            super()._left_behind(runtime, asynchronous=asynchronous),
        )
        if isinstance(left, LeftBehind):
            return _with_results(left, kept)

        async def look(left: Awaitable[LeftBehind]) -> LeftBehind:
            return _with_results(await left, kept)

        return look(left)


def _surface_of(gate: ToolGate, surface: Setting) -> Setting:
    return surface if callable(surface) or surface is None else gate.surface(surface)


def _with_results(left: LeftBehind, kept: Mapping[str, ToolMessage]) -> LeftBehind:
    return replace(left, results={**kept, **left.results})


def _as_judged(messages: Sequence[BaseMessage], told: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with the model's one as it was made readable, and what was told to it, in its place."""
    made = next((one for one in told if isinstance(one, AIMessage)), None) or last_ai_message(messages)
    assert made is not None
    behind = [one for one in told if one is not made]
    return [new for one in messages for new in ([made, *behind] if one.id == made.id else [one])]
