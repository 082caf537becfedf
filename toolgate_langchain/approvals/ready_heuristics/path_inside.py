"""Approves a path that lies inside of a root."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.ready_heuristics.base import MAX_LISTED, ArgumentHeuristic
from toolgate_langchain.approvals.resolved_path import path_inside
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["PathInside"]


class PathInside(ArgumentHeuristic):
    """Approves a call whose path, links followed, names something below a root.

    It looks when the call is judged. It does not protect from a link or a folder that is exchanged before the
    tool opens it, from hard links, from what the tool does with the file, nor from a tool that reads a path from
    another place than this root: a path from nowhere is taken from the root. `FileResources` has the tool get
    the very object that was looked up.

    Args:
        tool: The name of the tool.
        argument: The argument that is a path, or a list of paths, all of which must lie inside.
        root: An existing folder. It is itself not inside.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        ConfigurationError: If the root is not an existing folder.
    """

    def __init__(
        self, tool: str, argument: str, root: str | Path, *, others: Iterable[str] = (), origin: str = LOCAL
    ) -> None:
        super().__init__(tool, argument, others=others, origin=origin)
        if not isinstance(root, str | Path):
            raise ConfigurationError(f"root is {root!r}; it must be a path")
        self._root = Path(root).resolve()
        if not self._root.is_dir():
            raise ConfigurationError(f"the root {str(root)!r} is not an existing folder")

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether every path lies inside."""
        paths = value if isinstance(value, list) else [value]
        return 0 < len(paths) <= MAX_LISTED and all(self._inside(path) for path in paths)

    def _inside(self, path: Any) -> bool:
        found = path_inside(self._root, path) if isinstance(path, str) else None
        return found is not None and found != self._root
