"""The tool call that runs now, for the agents inside of it: what they share with it, and what bounds them."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.meeting import own_profile
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.bounds import within

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.errors import AlreadyAnsweredError
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.gated.children import Children
    from toolgate_langchain.policy.context import RunContext

__all__ = ["ParentRun", "current_run", "note_lost"]

_Lost = TypeVar("_Lost", bound="AlreadyAnsweredError")


class ParentRun:
    """One tool call while it runs. An agent that is started inside shares the run and has at most its rights.

    A context manager around the tool: a pause of an agent inside that did not come through, because
    the tool caught it or made another error of it, leaves the tool all the same. So does the error of a
    worker that lost what was going on inside to another one: what it would save here must not be saved.

    Args:
        gate: The gate that let the call run.
        run: The run of the agent that made the call.
        tool_name: The tool.
        runtime: What the tool was given to run with; its `tools` and its `config` are looked at.
        children: Where a `GatedAgent` keeps the agents inside; `None` where their questions have no way out.
        arguments: The arguments that the tool runs with; `None` where nothing asks what an agent inside is told.
    """

    # One is made for each call: what most calls leave as it is stands here once.
    had_agents = False
    agents_started = 0
    _token: Token[ParentRun | None] | None = None
    _pauses: list[BaseException] | None = None
    _lost: AlreadyAnsweredError | None = None
    _checked: dict[str, tuple[CatalogEntry, CatalogEntry]] | None = None

    def __init__(
        self,
        gate: ToolGate,
        run: Run,
        tool_name: str,
        runtime: Any = None,
        children: Children | None = None,
        arguments: Any = None,
    ) -> None:
        self.children, self.arguments = children, arguments
        self.gate, self.run, self.tool_name, self.runtime = gate, run, tool_name, runtime
        self.outer = current_run.get()

    @property
    def run_id(self) -> str:
        """The run, from the root to the innermost agent the same."""
        return self.run.id

    @property
    def agent_path(self) -> tuple[str, ...]:
        """The way from the root to an agent inside of this call."""
        return (*self.run.agent_path, self.tool_name)

    @property
    def config(self) -> Any:
        """The config that the tool was given, empty where there is none."""
        return getattr(self.runtime, "config", None) or {}

    # --- what bounds an agent inside ----------------------------------------------------------

    def starting(self, own: RunContext, gate: ToolGate) -> RunContext:
        """What is left of an agent's rights that starts inside of this call.

        Args:
            own: What the agent was given. One that names no caller works for the caller of this run.
            gate: Its gate.

        Raises:
            ConfigurationError: If it is another gate. Then neither what is denied here nor what people
                said in this run would hold there.
        """
        self._check_gate(gate)
        self.had_agents = True
        return within(replace(own, caller=self.run.context.caller) if own.caller is None else own, self.run.context)

    def bounding(self, run: Run, gate: ToolGate) -> Run:
        """A run inside of this call that goes on: as it was saved, within what holds here today.

        Args:
            run: The run, which may have been started elsewhere.
            gate: Its gate.

        Raises:
            ConfigurationError: If it is another gate; see `starting`.
        """
        self._check_gate(gate)
        context = within(run.context, self.run.context)
        return run if context is run.context else replace(run, context=context)

    def _check_gate(self, gate: ToolGate) -> None:
        if gate is not self.gate:
            raise ConfigurationError(
                f"an agent inside of the tool {self.tool_name!r} is behind another gate than the agent that called "
                "the tool; give both the same ToolGate: ToolGateMiddleware(gate, ...)"
            )

    def holding(self, entry: CatalogEntry) -> CatalogEntry:
        """A tool of an agent inside, withheld where an agent around it has another one of that name.

        What is written on a tool of the inner agent must not open what the outer one may not do.
        What the catalog has registered under the name holds for both already.
        """
        if self._checked is None:
            self._checked = {}
        known = self._checked.get(entry.name)
        if known is None or known[0] is not entry:
            known = self._checked[entry.name] = (entry, self._compared(entry))
        return known[1]

    def _compared(self, entry: CatalogEntry) -> CatalogEntry:
        if not entry.first_sight or entry.withheld:
            return entry
        for tool in getattr(self.runtime, "tools", None) or ():
            if tool.name == entry.name and own_profile(tool, None) != entry.profile:
                why = "an agent around this one has a tool of this name with another profile"
                return CatalogEntry(entry.name, entry.profile, tool=entry.tool, first_sight=True, withheld=why)
        return entry if self.outer is None else self.outer.holding(entry)

    # --- pauses -------------------------------------------------------------------------------

    def note_pause(self, pause: BaseException) -> None:
        """Note that something inside pauses, here and in every call around this one."""
        if self._pauses is None:
            self._pauses = []
        self._pauses.append(pause)
        if self.outer is not None:
            self.outer.note_pause(pause)

    def note_lost(self, error: AlreadyAnsweredError) -> None:
        """Note that another worker has what goes on inside, here and in every call around this one."""
        self._lost = error
        if self.outer is not None:
            self.outer.note_lost(error)

    def __enter__(self) -> Self:
        self._token = current_run.set(self)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _where: TracebackType | None
    ) -> None:
        assert self._token is not None
        current_run.reset(self._token)
        if self._lost is not None and (error is None or isinstance(error, Exception)):
            # Before any pause: one that is saved would be this worker's word all the same.
            if error is not self._lost:
                raise self._lost from error
            return
        if self.children is not None and self.children.left and (error is None or isinstance(error, Exception)):
            inner = self.children.left[0]
            if error is not inner:
                raise inner from error
        if self._pauses is None:
            return
        from toolgate_langchain.hosts.langgraph.internals import as_one_pause

        if (pause := as_one_pause(self._pauses, error)) is not None:
            raise pause from error


current_run: ContextVar[ParentRun | None] = ContextVar("toolgate_current_run", default=None)
"""Set around every tool call, so that an agent used as a tool shares the root's run."""


def note_lost(error: _Lost) -> _Lost:
    """An error that is about to be raised, known to the call around it whatever the tool in there makes of it.

    Args:
        error: It says that another worker has what goes on here.
    """
    if (around := current_run.get()) is not None:
        around.note_lost(error)
    return error
