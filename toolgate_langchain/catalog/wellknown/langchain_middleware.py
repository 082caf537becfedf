"""The tools that LangChain's own agent middleware adds (looked at in langchain 1.5.2)."""

from __future__ import annotations

from typing import Final

from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.catalog.wellknown.record import WellKnownTool, consequential, read_only
from toolgate_langchain.vocabulary import DataClass, Tier

__all__ = ["TOOLS"]

_TODO: Final = "langchain.agents.middleware.todo:"
_SEARCH: Final = "langchain.agents.middleware.file_search:FilesystemFileSearchMiddleware.__init__.<locals>."
_SHELL: Final = "langchain.agents.middleware.shell_tool:ShellToolMiddleware.__init__.<locals>."

TOOLS: Final[tuple[WellKnownTool, ...]] = (
    WellKnownTool(
        name="write_todos",
        code=(_TODO + "_write_todos", _TODO + "_awrite_todos", _TODO + "write_todos"),
        profile=ToolProfile(
            tier=Tier.READ_ONLY,
            egress="none",
            idempotent=True,
            data_class=DataClass.PUBLIC,
            reason="writes only the agent's own to-do list in its own state",
        ),
    ),
    read_only("glob_search", "lists file names below one folder", _SEARCH + "glob_search"),
    read_only("grep_search", "searches the text of files below one folder", _SEARCH + "grep_search"),
    consequential(
        "shell",
        "runs any command in a session that stays open, where one command changes what the next one means",
        _SHELL + "shell_tool",
        egress="open",
        standing="never",
    ),
)
"""`shell` is found under any name: its middleware lets the name be chosen."""
