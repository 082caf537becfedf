"""The tools that deepagents builds into its agents (looked at in deepagents 0.7.32).

The file tools work on whatever backend the agent was given: its own state, a store, a disk, a
sandbox. What they are does not tell which, and it can be another one tomorrow, so that each has the
tier that holds for the worst: a disk. `write_todos` is LangChain's own.
"""

from __future__ import annotations

from typing import Final

from toolgate_langchain.catalog.wellknown.record import WellKnownTool, consequential, read_only, routine

__all__ = ["TOOLS"]

_FILES: Final = "deepagents.middleware.filesystem:FilesystemMiddleware._create_"
_TASK: Final = "deepagents.middleware.subagents:_build_task_tool.<locals>."
_REMOTE: Final = "deepagents.middleware.async_subagents:_build_"
_COMPACT: Final = "deepagents.middleware.summarization:SummarizationToolMiddleware._create_compact_tool.<locals>."


def _file_tool(name: str) -> tuple[str, str]:
    return f"{_FILES}{name}_tool.<locals>.sync_{name}", f"{_FILES}{name}_tool.<locals>.async_{name}"


def _remote(builder: str, name: str) -> tuple[str, str]:
    return f"{_REMOTE}{builder}_tool.<locals>.{name}", f"{_REMOTE}{builder}_tool.<locals>.a{name}"


TOOLS: Final[tuple[WellKnownTool, ...]] = (
    read_only("ls", "lists a folder of the agent's backend", *_file_tool("ls"), egress="configured"),
    read_only("read_file", "reads one file of the agent's backend", *_file_tool("read_file"), egress="configured"),
    read_only("glob", "lists file names of the agent's backend", *_file_tool("glob"), egress="configured"),
    read_only("grep", "searches the text of the backend's files", *_file_tool("grep"), egress="configured"),
    consequential(
        "write_file",
        "replaces a file's content, on a disk where the backend is one",
        *_file_tool("write_file"),
        egress="configured",
    ),
    consequential(
        "edit_file",
        "changes a file in place, on a disk where the backend is one",
        *_file_tool("edit_file"),
        egress="configured",
    ),
    consequential(
        "delete", "deletes a file or a whole folder of the backend", *_file_tool("delete"), egress="configured"
    ),
    consequential(
        "execute",
        "runs any command, on this machine where the backend is a local shell",
        *_file_tool("execute"),
        egress="open",
        standing="arguments",
    ),
    consequential(
        "task",
        "starts a subagent, which does whatever its own tools can do",
        _TASK + "task",
        _TASK + "atask",
        egress="open",
    ),
    consequential(
        "start_async_task",
        "starts an agent on a server, out of this gate's reach",
        *_remote("start", "start_async_task"),
        egress="configured",
    ),
    consequential(
        "update_async_task",
        "gives new instructions to an agent on a server",
        *_remote("update", "update_async_task"),
        egress="configured",
    ),
    consequential(
        "cancel_async_task",
        "ends the work of an agent on a server",
        *_remote("cancel", "cancel_async_task"),
        egress="configured",
    ),
    read_only(
        "check_async_task",
        "asks the configured server how one known task stands",
        *_remote("check", "check_async_task"),
        egress="configured",
    ),
    read_only(
        "list_async_tasks",
        "asks the configured servers how the known tasks stand",
        *_remote("list_tasks", "list_async_tasks"),
        egress="configured",
    ),
    routine(
        "compact_conversation",
        "replaces older messages by a summary; they are kept in the backend",
        _COMPACT + "sync_compact",
        _COMPACT + "async_compact",
        egress="configured",
    ),
)
