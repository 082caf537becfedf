"""The runs of one agent: how they start, what is saved of them, and what is known of the agent's tools.

It is the same for every host. What a host knows of where a run is driven from (LangGraph's `Runtime`,
a `RunnableConfig`) is handed through to the functions that were given as settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolgate_langchain.approvals.turn import Run
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.flow import Flow
from toolgate_langchain.hosts.engine.foregone import Foregone
from toolgate_langchain.hosts.engine.outcomes import results_of
from toolgate_langchain.hosts.engine.parent_run import ParentRun, current_run
from toolgate_langchain.hosts.engine.reading import input_of_run
from toolgate_langchain.hosts.engine.rules_of_threads import RulesOfThreads
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, TURN, read_run, write_rules, write_run
from toolgate_langchain.policy.bounds import strictest
from toolgate_langchain.policy.caller import Caller, RunConfiguration
from toolgate_langchain.policy.context import worst_zone
from toolgate_langchain.policy.surface import Surface
from toolgate_langchain.vocabulary import TrustZone

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.policy.context import RunContext

__all__ = ["Runs", "Setting"]

Setting: TypeAlias = Any
"""A value, or a function of where the run is driven from that gives it."""

_CACHED: Final = 256
"""Runs kept parsed; more are parsed again when they come round."""


class Runs:
    """The runs of one agent behind a gate.

    Args:
        gate: The gate.
        surface: A surface's name, or a function of where it is driven from that gives one.
        caller: For whom the agent runs, or a function of where it is driven from.
        configuration: What the run may use, or a function of where it is driven from.
        zone: Where the run's models run, or a function of where it is driven from.

    Raises:
        ConfigurationError: For values that the gate does not know; functions are checked at each start.
    """

    keeps_rules_in_ledger = False
    """Whether the ledger keeps a thread's rules also where the state has them; for states that can get lost."""

    def __init__(
        self,
        gate: ToolGate,
        *,
        surface: Setting,
        caller: Setting,
        configuration: Setting,
        zone: Setting,
    ) -> None:
        self.gate = gate
        self._surface, self._caller, self._configuration, self._zone = (
            surface,
            caller,
            configuration,
            zone,
        )
        checked = {"caller": caller, "configuration": configuration, "zone": zone}
        gate.context(
            next(iter(gate.surfaces)) if callable(surface) else surface,
            **{name: value for name, value in checked.items() if not callable(value)},
        )
        gate.named.expect(self)
        self.foregone, self.flow, self.rules = Foregone(gate.rulebook), Flow(gate), RulesOfThreads(gate)
        self.kept: set[str] = set()
        """Scopes of runs of which the ledger keeps results."""
        self.tools_met: dict[str, BaseTool] = {}
        """The tools that the agent really has, by name, as far as this process has seen them."""
        self._runs: dict[str, tuple[Any, str | None, RunConfiguration | None, Run]] = {}
        self._latest: tuple[Any, ParentRun | None, str | None, Run] | None = None

    def can_ask(self) -> bool:
        """Whether a run of this agent can ever ask a person, as far as is known when it is built."""
        if callable(self._surface):
            return True
        surface = self.gate.surface(self._surface)
        if not surface.attended:
            return False
        catalog, rule = self.gate.catalog, self.gate.approval_rule
        if not catalog.closed or self.gate.rulebook.argument_policies:
            return True
        # Inside of another agent's tool the stricter answer of both surfaces holds.
        strict = strictest((surface, *(one for one in self.gate.surfaces.values() if one.attended)))
        return any(rule.need(entry, strict).needed for entry in catalog.entries())

    def thread_of(self, where: Any) -> str | None:
        """The thread that a run is on; `None` where it is on none."""
        raise NotImplementedError

    def context(self, where: Any) -> RunContext:
        """Where and for whom a run starts, read from the settings.

        Args:
            where: Where the run is driven from.

        Raises:
            ConfigurationError: If what a function gives is unknown to the gate.
        """
        context = self.gate.context(
            self._setting(self._surface, where, str | Surface, "surface"),
            caller=self._setting(self._caller, where, Caller | None, "caller"),
            configuration=self._live_configuration(where),
            zone=self._setting(self._zone, where, object, "zone"),
        )
        parent = current_run.get()
        return context if parent is None else parent.starting(context, self.gate)

    def zones_declared(self, where: Any) -> int:
        """For how many models a zone was declared; 0 where none was, or where the worst counts anyway."""
        zone = self._setting(self._zone, where, object, "zone")
        if worst_zone(zone) in (None, TrustZone.EXTERNAL_ANYWHERE):
            return 0
        return 1 if isinstance(zone, TrustZone) else len(zone)

    def own_path(self, parent: ParentRun | None) -> tuple[str, ...]:
        """What tells the agent from others in the same tool or, without one, in the same graph."""
        return ()

    def own_name(self) -> str:
        """The agent's name, which tells it from others that share a ledger and thread ids; empty where it has none."""
        return ""

    def new_run(self, context: RunContext, where: Any) -> Run:
        """A run that starts now; inside of a tool call it is the run that made the call.

        Args:
            context: Where and for whom.
            where: Where the run is driven from.
        """
        parent = current_run.get()
        path = self.own_path(parent)
        return Run(
            id=self.gate.judge.new_id() if parent is None else parent.run_id,
            context=context,
            thread_id=self.thread_of(where),
            agent_path=path if parent is None else (*parent.agent_path, *path),
            start="" if parent is None else self.gate.judge.new_id(),
            agent=self.own_name() if parent is None else parent.run.agent,
        )

    def start_steps(self, state: Mapping[str, Any], run: Run) -> Steps[dict[str, Any]]:
        """What to save where a run starts: the run, and the rules where some ended or wait in the ledger.

        Args:
            state: The agent's state.
            run: The run.
        """
        update: dict[str, Any] = {RUN: write_run(run)}
        if state.get(TURN) and (over := state.get(RUN)):
            # Also where the turn ended in another process, which nobody knows here.
            scope = "/".join((str(over.get("id")), str(over.get("start", "")), *over.get("agent_path", ())))
            yield lambda: self.gate.ledger.forget_results(scope)
        if self.flow.on:
            yield from self.flow.begin(run, state["messages"], self.input_of(state))
        kept = yield from self.rules.carried(state, run, in_ledger=self.keeps_rules_in_ledger)
        if kept is not None:
            update[RULES] = write_rules(kept)
        return update

    def input_of(self, state: Mapping[str, Any]) -> Sequence[BaseMessage]:
        """The messages of the input to the root graph, where a run starts; none inside of another run."""
        inside = current_run.get() is not None
        return () if inside else input_of_run(state["messages"])

    def run_of(self, state: Mapping[str, Any], where: Any) -> Run:
        """The run that is saved in the state, narrowed by today's configuration and by the run around it.

        Raises:
            ConfigurationError: If the state holds no run; then nothing may be released.
        """
        saved, thread_id, parent, latest = state.get(RUN), self.thread_of(where), current_run.get(), self._latest
        if latest is not None and latest[0] is saved and latest[1] is parent and latest[2] == thread_id:
            return latest[3]
        live = self._live_configuration(where)
        key = str(saved.get("id")) if isinstance(saved, Mapping) else ""
        cached = self._runs.get(key)
        if cached is not None and cached[0] == saved and cached[1] == thread_id and cached[2] == live:
            run = cached[3] if parent is None else parent.bounding(cached[3], self.gate)
            if not callable(self._configuration):
                self._latest = (saved, parent, thread_id, run)
            return run
        read = read_run(saved, self.gate.surfaces, live, thread_id)
        if read is None:
            raise ConfigurationError(
                f"the agent's state holds no run that this gate can read ({RUN!r} is {type(saved).__name__}); "
                "the agent must be started through its first node, by a gate that has the same surfaces"
            )
        if len(self._runs) > _CACHED:
            self._runs.clear()
        self._runs[key] = (saved, thread_id, live, read)
        return read if parent is None else parent.bounding(read, self.gate)

    def still(self, run: Run, state: Mapping[str, Any], where: Any) -> Run:
        """A run as `run_of` would give it again a moment later: only its configuration can be another by then."""
        return self.run_of(state, where) if callable(self._configuration) else run

    def _live_configuration(self, where: Any) -> RunConfiguration | None:
        live: RunConfiguration | None = self._setting(
            self._configuration, where, RunConfiguration | None, "configuration"
        )
        return live

    def _setting(self, setting: Setting, where: Any, kind: Any, name: str) -> Any:
        if not callable(setting):
            return setting
        value = setting(where)
        if kind is not object and not isinstance(value, kind):
            raise ConfigurationError(f"the function given as {name!r} returned {value!r}")
        return value

    # --- results ------------------------------------------------------------------------------

    def keep_results(self, run: Run) -> str:
        """The scope under which what calls of a run gave is kept, from now until its turn is over."""
        scope = results_of(run)
        self.kept.add(scope)
        return scope

    def forget_results(self, run: Run) -> Steps[None]:
        """The turn of a run is over: its model has had what its calls gave, and its host has saved that."""
        scope = results_of(run)
        if scope in self.kept and (yield self._results_saved) is True:
            self.kept.discard(scope)
            yield lambda: self.gate.ledger.forget_results(scope)

    def _results_saved(self) -> bool | Awaitable[bool]:
        """Whether what the calls before this turn of the model gave is saved where the run goes on from."""
        return True

    # --- tools ----------------------------------------------------------------------

    def meet(self, tool: BaseTool) -> CatalogEntry:
        """The entry of a tool that the agent really has."""
        self.tools_met[tool.name] = tool
        entry, parent = self.gate.catalog.meet(tool), current_run.get()
        return entry if parent is None else parent.holding(entry)

    def meet_all(self, tools: Sequence[BaseTool]) -> None:
        """Make the agent's tools known, as before a run is resumed in a new process."""
        for tool in tools:
            self.meet(tool)
        self.gate.named.meet(self, (tool.name for tool in tools))

    def find(self, name: str) -> CatalogEntry | None:
        """The agent's tool of a name, as far as this process has met it."""
        tool = self.tools_met.get(name)
        return self.gate.catalog.get(name) if tool is None else self.meet(tool)
