"""What a gate's configuration names, and which of these names nothing has.

A rule for `"paly"` says nothing of the tool `play`, which then runs unasked. But a gate need not know all tools when it
is built: agents bring their own, several agents share a gate, and servers are connected later. So a name is spoken of
only where it is as good as certain that it is misspelt.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from weakref import WeakSet

from toolgate_langchain.catalog.near import hint, near_names
from toolgate_langchain.errors import ConfigurationError, ToolGateWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolgate_langchain.approvals.heuristics import Heuristic
    from toolgate_langchain.catalog.catalog import ToolCatalog
    from toolgate_langchain.hosts.engine.base_runs import Runs
    from toolgate_langchain.policy.approval_rule import ApprovalRule

__all__ = ["Named", "named_tools"]


def named_tools(rule: ApprovalRule, heuristics: Sequence[Heuristic]) -> dict[str, str]:
    """The tools that a gate's rule and heuristics name, each with where it stands.

    Args:
        rule: The approval rule.
        heuristics: The heuristics; one that is about one tool has its name as `tool`, as the ready ones do.
    """
    named: dict[str, str] = {}
    for position, heuristic in enumerate(heuristics):
        tool = getattr(heuristic, "tool", None)
        if isinstance(tool, str):
            named[tool] = f"heuristics[{position}]"
    return {**named, **dict.fromkeys(rule.asks, "approval_rule.asks")}


class Named:
    """Looks for names of tools and groups that nothing has, each time an agent of the gate has other tools than before.

    - Where a closed catalog without servers has a near name, it is an error: when the gate is built, and before the
      model is called. What such a catalog does not have is no tool of the gate.
    - Else it is said once, as a warning, where all agents of the gate have shown their tools and one has a near name.
      A name that is near to nothing may be of a tool that comes later, and nothing is said of it.

    Args:
        catalog: The gate's catalog.
        tools: The tools that are named, each with where.

    Raises:
        ConfigurationError: Naming the tool, where it is named, and what may have been meant.
    """

    def __init__(self, catalog: ToolCatalog, tools: Mapping[str, str]) -> None:
        self._catalog, self._named = catalog, dict(tools)
        self._met: set[str] = set()
        self._waiting: WeakSet[Runs] = WeakSet()
        self._said: set[tuple[str, str]] = set()
        # Comparing a name with ten thousand others takes a while, and a new caller alone brings no new names.
        self._compared: dict[str, tuple[set[str], set[str]]] = {}
        self._closed_at = -1
        self._check_closed()

    def rename(self, field: str, tools: Iterable[str]) -> None:
        """Say that tools are named in another field, which is the one that was written by hand."""
        self._named.update(dict.fromkeys(tools, field))

    def expect(self, runs: Runs) -> None:
        """An agent has this gate; its tools are not known yet."""
        self._waiting.add(runs)

    def forget(self, runs: Runs) -> None:
        """No agent will have these runs: those of another part take their place."""
        self._waiting.discard(runs)

    def meet(self, runs: Runs, tools: Iterable[str]) -> None:
        """The tools that an agent has, by name, as far as they can be seen."""
        self._met.update(tools)
        self._waiting.discard(runs)

    def look(self, runs: Runs, tools: Iterable[str]) -> None:
        """Meet an agent's tools before its model is called, and say which names nothing has.

        Raises:
            ConfigurationError: Where a name is certain to be misspelt.
        """
        self.meet(runs, tools)
        if not self._named and not self._catalog.has_switches:
            return
        self._check_closed()
        if self._waiting:
            return
        known = self._met | self._catalog.named_anywhere()
        self._warn("tool", {**self._catalog.switched_on, **self._named}, known)
        self._warn("group", self._catalog.switched_off, self._catalog.groups_anywhere())

    def _check_closed(self) -> None:
        catalog = self._catalog
        version = catalog.version
        if not self._named or version == self._closed_at or not catalog.closed or catalog.has_servers:
            return
        known = set(catalog.names())
        for name, field in self._named.items():
            if name not in known and (near := near_names(name, known)):
                raise ConfigurationError(
                    f"{field} names {name!r}, and the catalog, which is closed, has no such tool; {hint(near, known)}"
                )
        self._closed_at = version

    def _warn(self, what: str, named: Mapping[str, str], known: set[str]) -> None:
        if self._compared.get(what) == (known, set(named)):
            return
        self._compared[what] = known, set(named)
        for name, field in named.items():
            if name in known or (what, name) in self._said or not (near := near_names(name, known)):
                continue
            self._said.add((what, name))
            warnings.warn(
                f"{field} names the {what} {name!r}, which nothing has that this gate has met: no agent, no catalog "
                f"and no server's record; {hint(near, known)}",
                ToolGateWarning,
                stacklevel=2,
            )
