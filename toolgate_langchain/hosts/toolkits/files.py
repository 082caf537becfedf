"""The file management toolkit of langchain-community behind a resource policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.resolved_path import path_inside, relative_name
from toolgate_langchain.catalog.wellknown import well_known_profiles
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.toolkits.guarded import GuardedTool, guarded, guarded_tool
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.resources import ResourcePolicy
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.arguments import ArgumentView
    from toolgate_langchain.policy.caller import Caller

__all__ = ["FileResources"]

_PATHS: Final[dict[str, dict[str, str]]] = {
    "read_file": {"file_path": "file"},
    "list_directory": {"dir_path": "folder"},
    "file_search": {"dir_path": "folder"},
    "write_file": {"file_path": "target"},
    "copy_file": {"source_path": "file", "destination_path": "target"},
    "move_file": {"source_path": "file", "destination_path": "target"},
    "file_delete": {"file_path": "file"},
}
"""The arguments of each tool that are paths. A target need not be there, but the folder that it lies in must."""

_LISTING: Final = frozenset({"list_directory", "file_search"})
_NOT_FOUND: Final = "Error: no such file or directory"
_NOTHING_THERE: Final = "Nothing found"
_ALLOWED: Final = PolicyAnswer(Verdict.ALLOW)


class FileResources:
    """The tools of `FileManagementToolkit`, on the files below one root that the caller of a run may use.

    Names are paths from the root with `/` between their parts, as `reports/2026.csv`; the root itself is `.`.
    A path is looked up once, links followed, and the object that it names is what is checked and what the tool
    gets. Reading, listing and searching ask one policy; what may not be used, what lies outside of the root and
    what is not there are answered alike. A new file may be written where its folder may be used and nothing
    denies its own name. Files are moved and copied one by one, folders never.

    It is an argument policy too. In `ToolGate(argument_policies=[...])` it puts the object in the place of the
    path, so that a person sees it and what is remembered is that object, refuses before anybody is asked, and
    refuses as changed where a link leads elsewhere when the call runs.

    It does not protect from a file, a folder or a link that is exchanged between the check and the tool's own
    opening of it, by somebody else who may write there; from hard links, which are the file; from what a file contains;
    or from other tools that reach the same disk.

    Args:
        root: An existing folder.
        policy: Which files a caller may use; give it `separator="/"`, and what holds for a folder holds for all
            in it.

    Raises:
        ConfigurationError: If the root is not there, or the policy denies a link and not what it leads to.
    """

    __name__ = "file resources"

    def __init__(self, root: str | Path, policy: ResourcePolicy) -> None:
        if not isinstance(root, str | Path):
            raise ConfigurationError(f"root is {root!r}; it must be a path")
        if not isinstance(policy, ResourcePolicy):
            raise ConfigurationError(f"policy is {policy!r}, which is not a ResourcePolicy")
        try:
            self._root = Path(root).resolve(strict=True)
        except OSError as error:
            raise ConfigurationError(f"the root {str(root)!r} is not there: {error}") from error
        if not self._root.is_dir():
            raise ConfigurationError(f"the root {str(root)!r} is not a folder")
        for name in policy.restricted:
            found = path_inside(self._root, name)
            if found is None or relative_name(self._root, found) != name:
                # What is checked is what a path leads to, and that is not called by this name.
                raise ConfigurationError(
                    f"the policy restricts {name!r}, which names nothing below the root by itself: write the name of "
                    "what it leads to, from the root on, without links"
                )
        self._policy = policy

    def tools(self, tools: Sequence[BaseTool]) -> list[BaseTool]:
        """The toolkit's tools behind the policy, in their order, for the agent to be given in their place.

        Args:
            tools: What `FileManagementToolkit.get_tools()` gave, or some of it. Their own root may be left out.

        Raises:
            ConfigurationError: If one is not a tool of the toolkit.
        """
        known = well_known_profiles("langchain-community")
        profiles = {name: known[name] for name in _PATHS}
        return guarded(self, tools, profiles, "langchain-community's file management toolkit")

    # --- as an argument policy ----------------------------------------------------------------

    def __call__(self, view: ArgumentView) -> PolicyAnswer:
        """Deny a call that the tool would refuse."""
        tool = guarded_tool(self, view.entry)
        if tool is None or self._checked(tool, view.arguments, view.caller) is not None:
            return _ALLOWED
        return PolicyAnswer(Verdict.DENY, "a path names nothing that this caller may use here")

    def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The objects that the paths name; see `ResolvingPolicy`."""
        tool, fresh = guarded_tool(self, entry), dict[str, Any]()
        for argument in _PATHS[tool.known_as] if tool is not None else ():
            written = arguments.get(argument)
            if isinstance(written, str):
                found = path_inside(self._root, written)
                fresh[argument] = written if found is None else str(found)
        return fresh

    # --- as the tool --------------------------------------------------------------------------

    def run(
        self, tool: GuardedTool, arguments: dict[str, Any], caller: Caller | None, inner: Callable[..., Any]
    ) -> Any:
        """Run one call; see `Resources`."""
        checked = self._checked(tool, arguments, caller)
        if checked is None:
            return _NOT_FOUND
        result = inner(**{**arguments, **{name: str(path) for name, path in checked.items()}})
        if tool.known_as in _LISTING:
            return self._visible(str(result), checked["dir_path"], caller)
        return result

    def _checked(
        self, tool: GuardedTool, arguments: Mapping[str, Any], caller: Caller | None
    ) -> dict[str, Path] | None:
        """The object of each path; `None` where one is not to be used."""
        checked: dict[str, Path] = {}
        for argument, kind in _PATHS[tool.known_as].items():
            written = arguments.get(argument, "." if kind == "folder" else "")
            found = path_inside(self._root, written) if isinstance(written, str) else None
            if found is None or not self._may(kind, found, caller):
                return None
            checked[argument] = found
        return checked

    def _may(self, kind: str, path: Path, caller: Caller | None) -> bool:
        there = path.is_dir() if kind == "folder" else path.is_file()
        if kind == "target" and not path.exists():
            there = path.parent.is_dir() and self._policy.may(caller, self._name(path.parent), known=True)
        return self._policy.may(caller, self._name(path), known=there)

    def _name(self, path: Path) -> str:
        return relative_name(self._root, path)

    def _visible(self, listing: str, folder: Path, caller: Caller | None) -> str:
        """A listing, one name a line, without what the caller may not use and what lies elsewhere."""
        kept = []
        for line in listing.split("\n"):
            found = path_inside(self._root, str(folder / line)) if line else None
            if found is not None and found.exists() and self._policy.may(caller, self._name(found), known=True):
                kept.append(line)
        return "\n".join(kept) if kept else _NOTHING_THERE
