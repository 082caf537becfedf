"""What is written down is what the installed packages ship: nothing is missing, nothing is left over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.tools import BaseTool
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from sqlalchemy.pool import NullPool

from tests.mcp.hatching import Hatchery
from tests.wellknown.shipped import (
    COMMUNITY,
    code_of_tools,
    community,
    community_tools,
    deepagents_tools,
    langchain_tools,
    tool_classes,
)
from toolgate_langchain import Tier
from toolgate_langchain.catalog.wellknown import WELL_KNOWN_TOOLS, recognise, well_known_profiles

BUILT = {"langchain": langchain_tools, "deepagents": deepagents_tools, "langchain-community": community_tools}

REMOTE = {"langchain.mcp.tools:as_langchain_tool.<locals>.call_tool"}
"""The one function for all tools of remote servers: what it does is not told by its code."""


def written(package: str) -> set[str]:
    """The addresses of the code that is written down for a package."""
    return {code for tool in WELL_KNOWN_TOOLS[package] for code in tool.code}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one")
    return tmp_path


@pytest.mark.parametrize("package", BUILT)
def test_every_tool_that_a_package_builds_is_recognised_under_its_own_name(package: str, root: Path) -> None:
    tools = BUILT[package](root)
    known = {tool.name: recognise(tool) for tool in tools}
    assert {name for name, entry in known.items() if entry is None} == set()
    assert {name: entry.name for name, entry in known.items() if entry is not None} == {name: name for name in known}
    assert all(entry is not None and entry.profile.tier is not None for entry in known.values())
    ours = {tool.name for tool in WELL_KNOWN_TOOLS[package]}
    # A deep agent has LangChain's own to-do list where its model's profile asks for one.
    assert ours == set(known) - ({"write_todos"} if package == "deepagents" else set())


@pytest.mark.parametrize("package", ["langchain", "deepagents"])
def test_every_function_that_the_sources_make_a_tool_of_is_written_down_and_no_other(package: str) -> None:
    assert code_of_tools(package) - REMOTE == written(package)


def test_every_tool_class_of_the_named_toolkits_is_written_down_and_no_other() -> None:
    shipped = {f"{kind.__module__}:{kind.__qualname__}" for part in COMMUNITY for kind in tool_classes(part)}
    assert shipped == written("langchain-community")


KINDS = re.compile("file|sql|shell|terminal|request|http|browser|playwright")


def test_every_part_of_the_package_that_is_about_files_sql_a_shell_requests_or_a_browser_was_looked_at() -> None:
    """A further toolkit of these kinds in the installed version fails here, whatever its tools are called."""
    folder = Path(str(community("tools").__file__)).parent
    shipped = {f"tools.{one.name}" for one in folder.iterdir() if (one / "__init__.py").exists()}
    assert {part for part in shipped if KINDS.search(part)} == set(COMMUNITY)


def test_the_older_spelling_of_the_sql_query_class_is_recognised_too(root: Path) -> None:
    module = community("tools.sql_database.tool")
    database = community("utilities.sql_database").SQLDatabase.from_uri(
        f"sqlite:///{root / 'data.db'}", engine_args={"poolclass": NullPool}
    )
    with pytest.warns(LangChainDeprecationWarning, match="QuerySQLDataBaseTool"):
        tool: BaseTool = module.QuerySQLDataBaseTool(db=database)
    known = recognise(tool)
    assert known is not None and (known.name, known.profile.tier) == ("sql_db_query", Tier.CONSEQUENTIAL)


def test_the_browser_toolkits_own_list_of_classes_is_the_one_that_is_written_down() -> None:
    listed = community("tools.playwright").__all__
    ours = {code.partition(":")[2] for code in written("langchain-community") if ".playwright." in code}
    assert {name for name in listed if name != "BaseBrowserTool"} == ours


# --- servers --------------------------------------------------------------------------------------

NPM_SERVERS = {
    "@modelcontextprotocol/server-filesystem": {
        "reads": """read_file read_text_file read_media_file read_multiple_files list_directory directory_tree
            list_directory_with_sizes search_files get_file_info list_allowed_directories""",
        "adds": "create_directory",
        "destroys": "write_file edit_file move_file",
    },
    "@modelcontextprotocol/server-memory": {
        "reads": "read_graph search_nodes open_nodes",
        "adds": "create_entities create_relations add_observations",
        "destroys": "delete_entities delete_observations delete_relations",
    },
    "@modelcontextprotocol/server-sequential-thinking": {"reads": "sequentialthinking"},
    "@modelcontextprotocol/server-everything": {
        "reads": """echo get-annotated-message get-env get-resource-links get-resource-reference get-roots-list
            get-structured-content get-sum get-tiny-image trigger-long-running-operation""",
        "adds": """gzip-file-as-resource toggle-simulated-logging toggle-subscriber-updates simulate-research-query
            trigger-elicitation-request trigger-elicitation-request-async trigger-sampling-request
            trigger-sampling-request-async trigger-url-elicitation""",
    },
}
"""What those servers listed when they were started in version 2026.8.31, sorted by what each said of
its own tools: `readOnlyHint`; not that and not `destructiveHint`; `destructiveHint`. The two `-async`
tools, which need a client with tasks, are from the server's sources."""

LEAST = {"reads": Tier.READ_ONLY, "adds": Tier.ROUTINE, "destroys": Tier.CONSEQUENTIAL}


@pytest.mark.parametrize("package", NPM_SERVERS)
def test_the_tools_that_an_npm_server_was_seen_to_have_are_written_down_and_never_milder_than_it_says(
    package: str,
) -> None:
    said = {name: LEAST[kind] for kind, names in NPM_SERVERS[package].items() for name in names.split()}
    ours = {name: profile.effective_tier for name, profile in well_known_profiles(package).items()}
    assert set(ours) == set(said)
    assert {name for name in said if ours[name] < said[name]} == set()


@pytest.mark.parametrize("package", ["mcp-server-fetch", "mcp-server-git", "mcp-server-time"])
async def test_the_tools_of_an_installed_server_are_written_down_and_never_milder_than_it_says(
    package: str, hatchery: Hatchery
) -> None:
    command, *arguments = hatchery.command("-m", package.replace("-", "_"))
    async with (
        stdio_client(StdioServerParameters(command=command, args=arguments)) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        listed: list[Any] = (await session.list_tools()).tools
    ours = {name: profile.effective_tier for name, profile in well_known_profiles(package).items()}
    assert set(ours) == {tool.name for tool in listed}
    for tool in listed:
        hints = tool.annotations
        least = Tier.READ_ONLY if hints.readOnlyHint else Tier.CONSEQUENTIAL if hints.destructiveHint else Tier.ROUTINE
        assert ours[tool.name] >= least
