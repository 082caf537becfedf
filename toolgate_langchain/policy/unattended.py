"""Which tools run without any pause for a person. Its own interface, because the question is its own.

The gates say whether a tool may take part in a run; this filter, whether it can take part without a
human. It promises no pause, not success.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.approval_rule import ApprovalRule
    from toolgate_langchain.policy.surface import Surface

__all__ = ["UnattendedToolFilter"]


class UnattendedToolFilter:
    """Narrows tool names to those that never pause a run.

    It asks the approval rule, so whatever makes a tool need a person removes it here without a
    change here. It does not decide what may be offered: filter that first, then narrow.

    Args:
        rule: The approval rule.
        find: Gives the tool of a name, or `None`.
        surface: Where the run is driven from.
    """

    def __init__(self, rule: ApprovalRule, find: Callable[[str], CatalogEntry | None], surface: Surface) -> None:
        self._rule, self._find, self._surface = rule, find, surface

    def unattended(self, names: Sequence[str]) -> list[str]:
        """The names, in their order, that run without a pause; duplicates are kept as given.

        Left out are tools that need a person, tools that a person fills in, tools with a per-call
        predicate (they cannot be shown to be free of it), and unknown names.
        """
        return [name for name in names if not self._rule.need(self._find(name), self._surface).needed]
