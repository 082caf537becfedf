"""What is said to be read-only changes nothing when it is run, and what changes something is not said to be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import LocalShellBackend
from deepagents.middleware import FilesystemMiddleware
from langchain.agents.middleware import (
    AgentMiddleware,
    FilesystemFileSearchMiddleware,
    ShellToolMiddleware,
    TodoListMiddleware,
)
from langchain_core.tools import BaseTool

from tests.wellknown.running import Traces, furnish, hostile_texts, listening, run_hostile
from tests.wellknown.shipped import CommandSandbox, file_tools, requests_tools, shell_tools, sql_tools
from toolgate_langchain import Tier
from toolgate_langchain.catalog.wellknown import WELL_KNOWN_TOOLS, recognise

Middleware = Sequence[AgentMiddleware[Any, Any]]


def every_tool_that_can_run(root: Path) -> Iterator[tuple[str, BaseTool, Middleware]]:
    """The tools, by package, with the middleware that they need around them."""
    disk = LocalShellBackend(root_dir=root, virtual_mode=True)
    middleware: list[tuple[str, AgentMiddleware[Any, Any]]] = [
        ("langchain", TodoListMiddleware()),
        ("langchain", FilesystemFileSearchMiddleware(root_path=str(root))),
        ("langchain", ShellToolMiddleware(workspace_root=root)),
        ("deepagents", FilesystemMiddleware(backend=disk)),
    ]
    for package, one in middleware:
        for tool in one.tools:
            yield package, tool, [one]
    for build in (file_tools, sql_tools, shell_tools, requests_tools):
        for tool in build(root):
            yield "langchain-community", tool, []


NOT_RUN = {
    ("deepagents", name)
    for name in [
        *("task", "compact_conversation"),  # they run a model
        *("start_async_task", "update_async_task", "cancel_async_task", "check_async_task", "list_async_tasks"),
    ]
} | {
    ("langchain-community", name)
    for name in [
        *("navigate_browser", "previous_webpage", "click_element", "current_webpage", "extract_text"),
        *("extract_hyperlinks", "get_elements"),
        *("query_sql_db", "schema_sql_db", "list_tables_sql_db", "query_checker_sql_db"),
    ]
}
"""What needs a browser, Spark, a server of agents or a model; held to the list of words below."""


def entries(package: str) -> dict[str, Any]:
    return {tool.name: tool for tool in WELL_KNOWN_TOOLS[package]}


PIPES_STAY_OPEN = {("langchain", "shell"): pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")}

RUN = sorted(
    {(package, name) for package in ("langchain", "deepagents", "langchain-community") for name in entries(package)}
    - NOT_RUN
)


OWN_ASYNC_CODE = {
    (package, name) for package, name in RUN if package == "deepagents" or name.startswith("requests_")
} | {
    ("langchain", "write_todos"),
    ("langchain-community", "sql_db_query_checker"),
}
"""For all others LangChain runs the same function in a thread."""

CASES = [(*tool, False) for tool in RUN] + [(*tool, True) for tool in sorted(OWN_ASYNC_CODE)]


@pytest.mark.parametrize(
    ("package", "name", "asynchronous"),
    [
        pytest.param(
            *case, id="-".join([*case[:2], "async" if case[2] else "sync"]), marks=PIPES_STAY_OPEN.get(case[:2], ())
        )
        for case in CASES
    ],
)
def test_a_tool_that_leaves_traces_is_not_read_only_and_one_that_leaves_none_is(
    package: str, name: str, tmp_path: Path, asynchronous: bool, request: pytest.FixtureRequest
) -> None:
    if (package, name) == ("langchain", "shell"):
        request.getfixturevalue("pipes_stay_open")
    root = furnish(tmp_path / "watched" / "root")
    ((tool, middleware),) = [(t, m) for p, t, m in every_tool_that_can_run(root) if (p, t.name) == (package, name)]
    known = recognise(tool)
    assert known is not None and known is entries(package)[name]
    with listening() as (address, heard):
        traces = run_hostile(tool, middleware, root, hostile_texts(address), asynchronous=asynchronous)
    left_traces = bool(traces.changed or traces.connected)
    assert left_traces == known.profile.effective_tier.changes_state, (traces.changed, traces.connected)
    assert bool(heard) == bool(traces.connected)
    if known.profile.egress == "none":
        assert traces.connected == set()
    if known.profile.tier is Tier.READ_ONLY:
        assert did_something(traces), "the arguments never got as far as the tool's own work"


@pytest.mark.parametrize("name", ["ls", "read_file", "glob", "grep"])
def test_what_reads_a_sandbox_by_commands_runs_no_command_of_the_models(name: str, tmp_path: Path) -> None:
    root = furnish(tmp_path / "watched" / "root")
    middleware = FilesystemMiddleware(backend=CommandSandbox(root))
    (tool,) = [tool for tool in middleware.tools if tool.name == name]
    texts = [str(root), str(root / "a.txt"), *hostile_texts("http://127.0.0.1:9")]
    traces = run_hostile(tool, [middleware], root, texts, always={"path": str(root)} if name != "read_file" else None)
    assert (traces.changed, traces.connected) == (set(), set())
    assert did_something(traces)


def did_something(traces: Traces) -> bool:
    """Whether at least one call was carried out: an answer that is neither an error nor empty."""
    refused = re.compile(r"(?i)^\s*(error|.*error:|invalid|no (files|matches) found)|^$")
    return any(not refused.search(result) for result in traces.results)


def test_any_statement_runs_in_the_sql_query_tool_and_is_committed(tmp_path: Path) -> None:
    root = furnish(tmp_path / "root")
    query = {tool.name: tool for tool in sql_tools(root)}["sql_db_query"]
    query.invoke({"query": "INSERT INTO t VALUES (7)"})
    again = {tool.name: tool for tool in sql_tools(root)}["sql_db_query"]
    assert again.invoke({"query": "SELECT n FROM t"}) == "[(1,), (7,)]"


# --- what cannot be run here ----------------------------------------------------------------------

CHANGING_WORDS = frozenset(
    {*("add", "append", "cancel", "checkout", "click", "commit", "compact", "copy", "create", "delete", "edit")}
    | {*("execute", "fetch", "gzip", "insert", "kill", "launch", "make", "merge", "move", "navigate", "patch", "post")}
    | {*("press", "previous", "publish", "push", "put", "query", "remove", "rename", "replace", "requests", "reset")}
    | {*("run", "save", "send", "set", "shell", "simulate", "start", "stop", "submit", "switch", "task", "terminal")}
    | {*("toggle", "trigger", "update", "upload", "write")}
)
"""Words that say, in a tool's name, that something may change or leave. Written without a look at the tiers."""

SAFE_ALL_THE_SAME = {
    "write_todos": "run above: it leaves no trace",
    "sql_db_query_checker": "run above: it leaves no trace",
    "query_checker_sql_db": "the same as the one above, which was run: the statement goes to a model alone",
    "check_async_task": "the task is what is looked at",
    "trigger-long-running-operation": "it waits and counts",
}


def test_a_tool_whose_name_says_that_it_changes_something_is_not_read_only() -> None:
    read_only = [
        tool.name
        for tools in WELL_KNOWN_TOOLS.values()
        for tool in tools
        if tool.profile.effective_tier is Tier.READ_ONLY
    ]
    suspicious = {name for name in read_only if CHANGING_WORDS & set(re.split(r"[-_]", name))}
    assert suspicious == set(SAFE_ALL_THE_SAME)


def test_words_alone_find_nearly_everything_that_changes_something() -> None:
    changing = {
        tool.name for tools in WELL_KNOWN_TOOLS.values() for tool in tools if tool.profile.effective_tier.changes_state
    }
    unnoticed = {name for name in changing if not CHANGING_WORDS & set(re.split(r"[-_]", name))}
    # Found by looking at their code and by running them (the next file), not by their names.
    assert unnoticed == {"git_status", "git_diff", "git_diff_staged", "git_diff_unstaged", "git_show"}
