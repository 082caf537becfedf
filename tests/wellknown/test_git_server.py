"""The git server's own words are "read-only" for seven tools; five of them run whatever a repository names."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, Tool

from tests.mcp.hatching import Hatchery
from toolgate_langchain.catalog.wellknown import well_known_profiles

HELPERS = (
    *("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "gpg.program"),
    *("diff.planted.command", "diff.planted.textconv", "filter.planted.clean", "filter.planted.smudge"),
)
"""Settings of a repository that name a program for git to run."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "git_status": {},
    "git_diff_unstaged": {},
    "git_diff_staged": {},
    "git_diff": {"target": "HEAD~1"},
    "git_log": {},
    "git_show": {"revision": "HEAD"},
    "git_branch": {"branch_type": "all"},
}
"""A call of each tool that the server says is read-only."""


def planted_repository(folder: Path) -> tuple[Path, Path]:
    """A repository with something staged and something not, and the folder where its helpers leave a trace."""
    repository, traces = folder / "repository", folder / "traces"
    repository.mkdir()
    traces.mkdir()

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)

    git("init", "-q", "-b", "main", ".")
    git("config", "user.name", "a")
    git("config", "user.email", "a@example.com")
    (repository / ".gitattributes").write_text("*.txt diff=planted filter=planted\n")
    for text in ("one\n", "two\n"):
        (repository / "a.txt").write_text(text)
        git("add", ".")
        git("commit", "-qm", text)
    (repository / "a.txt").write_text("three\n")
    git("add", ".")
    (repository / "a.txt").write_text("four\n")
    for setting in HELPERS:
        program = folder / f"{setting}.sh"
        program.write_text(f"#!/bin/sh\ntouch {traces / setting}\n")
        program.chmod(0o755)
        git("config", setting, str(program))
    git("config", "log.showSignature", "true")
    for trace in traces.iterdir():
        trace.unlink()
    return repository, traces


@dataclass
class Ran:
    """A tool's call: how the server lists it, what it gave, and the helpers that it ran."""

    listed: Tool
    result: CallToolResult
    helpers: set[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, hatchery: Hatchery) -> dict[str, Ran]:
    """Each tool's call, one after the other on one server, each in a fresh copy of the repository."""
    folder = tmp_path_factory.mktemp("git")
    repository, traces = planted_repository(folder)
    found: dict[str, Ran] = {}

    async def run() -> None:
        command, *options = hatchery.command("-m", "mcp_server_git")
        server = StdioServerParameters(command=command, args=options)
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            listed = {tool.name: tool for tool in (await session.list_tools()).tools}
            for name, arguments in ARGUMENTS.items():
                copy = shutil.copytree(repository, folder / name)
                result = await session.call_tool(name, {"repo_path": str(copy), **arguments})
                found[name] = Ran(listed[name], result, {trace.name for trace in traces.iterdir()})
                for trace in traces.iterdir():
                    trace.unlink()

    asyncio.run(run())
    return found


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_tool_of_the_git_server_is_read_only_exactly_where_it_runs_nothing_that_a_repository_names(
    name: str, ran: dict[str, Ran]
) -> None:
    one = ran[name]
    assert one.listed.annotations is not None and one.listed.annotations.readOnlyHint is True
    assert not one.result.isError
    profile = well_known_profiles("mcp-server-git")[name]
    assert bool(one.helpers) == profile.effective_tier.changes_state, one.helpers
    if one.helpers:
        assert profile.widest_memory == "arguments"
