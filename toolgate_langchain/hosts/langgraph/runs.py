"""The runs of one agent in LangGraph: where they start, and what an interrupted one left behind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.messages import RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from toolgate_langchain.errors import ConfigurationError, MissingCheckpointerError
from toolgate_langchain.hosts.engine.base_runs import Runs, Setting
from toolgate_langchain.hosts.engine.parent_run import ParentRun, current_run
from toolgate_langchain.hosts.engine.run_state import TURN
from toolgate_langchain.hosts.engine.superseding import supersede
from toolgate_langchain.hosts.langgraph.internals import (
    agent_name,
    has_checkpointer,
    left_behind,
    nodes_around,
    pauses_reach,
)
from toolgate_langchain.hosts.langgraph.pauses import checkpoint_saved

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from langchain_core.messages import BaseMessage
    from langgraph.runtime import Runtime

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.superseding import LeftBehind
    from toolgate_langchain.policy.surface import Surface

__all__ = ["AgentRuns", "Setting"]


class AgentRuns(Runs):
    """The runs of one agent behind a gate; see `Runs`. Settings may be functions of the `Runtime`."""

    _built = ("agent", "create_agent")
    """What it is, and what takes its checkpointer."""

    def begin(self, state: Mapping[str, Any], runtime: Runtime[Any], *, asynchronous: bool) -> Steps[dict[str, Any]]:
        """Close what an earlier run left pending, and start a run.

        Args:
            state: The agent's state.
            runtime: The run's runtime.
            asynchronous: Whether the agent runs in a loop, so that its checkpointer must be awaited.

        Raises:
            ConfigurationError: If the surface or configuration that the runtime gives is unknown, or if
                the agent runs inside of a tool and its questions could not reach whoever drives the run.
            MissingCheckpointerError: If a person may have to be asked and nothing can keep the question.
        """
        context = self.context(runtime)
        self.check_checkpointer(context.surface)
        if context.surface.attended:
            self._check_questions_arrive()
        run = self.new_run(context, runtime)
        look = partial(self._left_behind, runtime, asynchronous=asynchronous)
        rebuilt = yield from supersede(state, run, self.gate, look)
        update = yield from self.start_steps(state, run)
        if state.get(TURN) or rebuilt is not None:
            update[TURN] = {}
        if rebuilt is not None:
            update["messages"] = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *rebuilt]
        return update

    def input_of(self, state: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """As for `Runs`; none where the agent is a node of another graph, whose input only that graph has seen."""
        return () if nodes_around() else super().input_of(state)

    def check_checkpointer(self, surface: Surface) -> None:
        """Refuse to run where a question could not be kept.

        Raises:
            MissingCheckpointerError: Naming the surface.
        """
        if surface.attended and self.can_ask() and not has_checkpointer():
            built, build = self._built
            raise MissingCheckpointerError(
                f"surface {surface.name!r} is attended, so a call may have to wait for a person, but the {built} "
                f"has no checkpointer to keep the question in; pass {build}(..., checkpointer=InMemorySaver()) "
                "or a durable one, or use an unattended surface"
            )

    def _left_behind(self, runtime: Runtime[Any], *, asynchronous: bool) -> LeftBehind | Awaitable[LeftBehind]:
        """What the step before the input of this run left behind."""
        return left_behind(asynchronous=asynchronous)

    def _check_questions_arrive(self) -> None:
        """Refuse to start an agent inside of a tool where the pause for a question would not be the tool's pause."""
        parent = current_run.get()
        if parent is not None and self.can_ask() and (parent.children is not None or not pauses_reach(parent.config)):
            if parent.children is not None:
                raise ConfigurationError(
                    f"an agent of LangGraph inside of the tool {parent.tool_name!r} may have to ask a person, and its "
                    "question would not reach whoever drives the run, because the agent around it keeps no "
                    "checkpoints. Make that one a GatedAgent of the same gate too, or the one around it an agent of "
                    "LangGraph, or give that one an unattended surface"
                )
            raise ConfigurationError(
                f"an agent inside of the tool {parent.tool_name!r} may have to ask a person, and its question would "
                "not reach whoever drives the run, because it runs on a thread of its own; start it without a config, "
                "or with the one that the tool was given (checkpointer=True lets it remember earlier calls), or give "
                "it an unattended surface"
            )

    def own_name(self) -> str:
        """See `Runs.own_name`."""
        return agent_name()

    def own_path(self, parent: ParentRun | None) -> tuple[str, ...]:
        """The nodes of the graphs around the agent, or its name in the tool that it runs in.

        A name that is also the one of the agent around it may only be inherited with the config.
        """
        if parent is None:
            return nodes_around()
        name = agent_name()
        return () if name in ("", agent_name(parent.config), parent.tool_name) else (name,)

    def _results_saved(self) -> bool | Awaitable[bool]:
        return checkpoint_saved()

    def thread_of(self, where: Any) -> str | None:
        """The thread of the graph that runs."""
        information = getattr(where, "execution_info", None)
        thread_id = None if information is None else information.thread_id
        return thread_id if thread_id is None or type(thread_id) is str else str(thread_id)
