"""What was worked out of an agent's tools and still holds, recognised by identity, so that it costs next to nothing.

Turn after turn an agent calls the same few tools. Whether somebody could have to be asked about a call of one, and
whether it runs at once, follows from the tool, the run's context and the catalog; while these are the very same,
nothing is looked up again. Only what is harmless is remembered: of everything else the long way decides each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolgate_langchain.errors import InvalidArgumentsError
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.running_here import would_wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import ToolCall
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.catalog.arguments import ArgumentSchema
    from toolgate_langchain.hosts.engine.base_runs import Runs
    from toolgate_langchain.hosts.engine.parent_run import ParentRun
    from toolgate_langchain.policy.context import RunContext

__all__ = ["AtOnce", "UnaskedTools"]


class UnaskedTools:
    """Tools no call of which can need a person, whatever its arguments, as was found in one context.

    Args:
        runs: The agent's runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs, self._catalog = runs, runs.gate.catalog
        self._found: tuple[RunContext, int, dict[str, BaseTool]] | None = None

    def have_all(self, calls: Sequence[ToolCall], run: Run) -> bool:
        """Whether all calls are of such tools; `False` also where that was not found out yet.

        Args:
            calls: The calls of a turn.
            run: The run.
        """
        found = self._found
        if (
            found is None
            or found[0] is not run.context
            or found[1] != self._catalog.version
            or current_run.get() is not None
        ):
            return False
        met, unasked = self._runs.tools_met, found[2]
        for call in calls:
            name = call["name"]
            tool = unasked.get(name)
            if tool is None or met.get(name) is not tool:
                return False
        return True

    def note(self, calls: Sequence[ToolCall], run: Run) -> None:
        """No call of these tools can need a person, as was found just now."""
        if current_run.get() is not None:
            # An agent around this one bounds what its tools may do.
            return
        found, version = self._found, self._catalog.version
        if found is None or found[0] is not run.context or found[1] != version:
            found = (run.context, version, {})
        met = self._runs.tools_met
        found[2].update((call["name"], met[call["name"]]) for call in calls if call["name"] in met)
        self._found = found


class _Released(NamedTuple):
    tool: BaseTool
    context: RunContext
    version: int
    arguments: ArgumentSchema


class AtOnce:
    """Tools of which a call runs as it is, once its arguments fit and where nothing was said.

    Args:
        runs: The agent's runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs, self._gate, self._catalog = runs, runs.gate, runs.gate.catalog
        self._released: dict[str, _Released] = {}

    def arguments_of(self, tool: BaseTool, run: Run, around: ParentRun | None) -> ArgumentSchema | None:
        """What the arguments of a call are held against; `None` where the call must be looked at as a whole.

        Args:
            tool: The tool that would run.
            run: The run.
            around: The call that the agent runs inside of, which bounds what its tools may do.
        """
        known = self._released.get(tool.name)
        if (
            known is not None
            and known[0] is tool
            and known[1] is run.context
            and known[2] == self._catalog.version
            and around is None
        ):
            return known[3]
        return self._look(tool, run, around)

    def _look(self, tool: BaseTool, run: Run, around: ParentRun | None) -> ArgumentSchema | None:
        version, entry = self._catalog.version, self._runs.meet(tool)
        if not entry.repeatable or self._gate.recorder.wants(entry):
            return None
        if self._runs.foregone.released(entry, run.context) is None or would_wait(tool, run.context.surface):
            return None
        try:
            arguments = entry.arguments
        except InvalidArgumentsError:  # the tool's own schema is not one; the long way says so
            return None
        if arguments is not None and around is None:
            self._released[tool.name] = _Released(tool, run.context, version, arguments)
        return arguments
