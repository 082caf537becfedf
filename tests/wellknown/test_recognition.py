"""A name proves nothing: a tool is well known only if it runs the very code that was looked at."""

from __future__ import annotations

import functools
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend, StateBackend
from deepagents.middleware import FilesystemMiddleware
from langchain.agents.middleware import FilesystemFileSearchMiddleware, ShellToolMiddleware, TodoListMiddleware
from langchain.agents.middleware import todo as todo_module
from langchain_core.tools import BaseTool, StructuredTool
from langchain_mcp_adapters.client import MultiServerMCPClient

from tests.mcp.hatching import Hatchery
from tests.support import Recorder, with_profile
from tests.wellknown.shipped import community
from toolgate_langchain import RemoteServer, Tier, ToolCatalog, ToolProfile
from toolgate_langchain.catalog.wellknown import WELL_KNOWN_TOOLS, well_known_profile, well_known_profiles
from toolgate_langchain.errors import CatalogError


def named(tools: Any, name: str) -> StructuredTool:
    """The one tool of that name."""
    (found,) = [tool for tool in tools if tool.name == name]
    assert isinstance(found, StructuredTool)
    return found


@pytest.fixture
def grep(tmp_path: Path) -> StructuredTool:
    return named(FilesystemFileSearchMiddleware(root_path=str(tmp_path)).tools, "grep_search")


def reader(root: Path) -> BaseTool:
    tool: BaseTool = community("tools.file_management").ReadFileTool(root_dir=str(root))
    return tool


def test_a_tool_that_a_middleware_makes_in_itself_is_recognised(grep: StructuredTool) -> None:
    profile = well_known_profile(grep)
    assert profile is not None and (profile.tier, profile.idempotent) == (Tier.READ_ONLY, False)


def test_the_name_under_which_a_tool_is_given_does_not_matter(tmp_path: Path, grep: StructuredTool) -> None:
    (shell,) = ShellToolMiddleware(workspace_root=tmp_path, tool_name="read_inbox").tools
    profile = well_known_profile(shell)
    assert profile is not None and profile.tier is Tier.CONSEQUENTIAL
    assert well_known_profile(grep.model_copy(update={"name": "shell", "description": "x"})) is not None


def test_a_copy_with_another_description_is_still_the_same_code(tmp_path: Path) -> None:
    assert well_known_profile(reader(tmp_path).model_copy(update={"description": "x"})) is not None


def test_a_subclass_of_a_well_known_tool_is_not_well_known(tmp_path: Path) -> None:
    base = type(reader(tmp_path))
    alike = types.new_class(base.__name__, (base,))
    alike.__module__, alike.__qualname__ = base.__module__, base.__qualname__
    assert well_known_profile(reader(tmp_path)) is not None
    assert well_known_profile(alike(root_dir=str(tmp_path))) is None


def test_a_class_that_was_given_another_method_is_not_well_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = reader(tmp_path)
    monkeypatch.setattr(type(tool), "_run", lambda self, file_path: "")
    assert well_known_profile(tool) is None


def test_a_tool_whose_own_method_hides_that_of_its_class_is_not_well_known(tmp_path: Path) -> None:
    tool = reader(tmp_path)
    object.__setattr__(tool, "_run", lambda file_path: "")
    assert well_known_profile(tool) is None


def test_a_tool_of_a_subclass_of_its_middleware_is_not_well_known(tmp_path: Path) -> None:
    class Searches(FilesystemFileSearchMiddleware[Any, Any]):
        def _python_search(self, pattern: str, base_path: str, include: str | None) -> Any:
            (tmp_path / "written").touch()
            return {}

    tool = named(Searches(root_path=str(tmp_path), use_ripgrep=False).tools, "grep_search")
    assert well_known_profile(tool) is None
    tool.invoke({"pattern": "x"})
    assert (tmp_path / "written").exists()


def test_a_function_that_says_it_is_another_one_is_not_well_known(grep: StructuredTool) -> None:
    assert grep.func is not None

    @functools.wraps(grep.func)
    def alike(**_: Any) -> str:
        return ""

    assert (alike.__module__, alike.__qualname__) == (grep.func.__module__, grep.func.__qualname__)
    assert well_known_profile(grep.model_copy(update={"func": alike})) is None


def test_known_code_in_other_surroundings_is_not_well_known(grep: StructuredTool) -> None:
    function = grep.func
    assert isinstance(function, types.FunctionType)
    moved = types.FunctionType(function.__code__, {**function.__globals__}, "x", None, function.__closure__)
    moved.__module__, moved.__qualname__ = function.__module__, function.__qualname__
    assert well_known_profile(grep.model_copy(update={"func": moved})) is None
    emptied = tuple(types.CellType() for _ in function.__closure__ or ())
    hollow = types.FunctionType(function.__code__, function.__globals__, "x", None, emptied)
    hollow.__qualname__ = function.__qualname__
    assert well_known_profile(grep.model_copy(update={"func": hollow})) is None


def test_both_functions_of_a_tool_must_be_known_and_the_same_tool() -> None:
    tools = FilesystemMiddleware(backend=StateBackend()).tools
    ls, write = named(tools, "ls"), named(tools, "write_file")

    async def other(**_: Any) -> str:
        return ""

    assert well_known_profile(ls) is not None
    assert well_known_profile(ls.model_copy(update={"coroutine": None})) is not None
    assert well_known_profile(ls.model_copy(update={"coroutine": other})) is None
    assert well_known_profile(ls.model_copy(update={"coroutine": write.coroutine})) is None
    assert well_known_profile(ls.model_copy(update={"func": functools.partial(ls.func or print)})) is None
    assert well_known_profile(ls.model_copy(update={"func": None, "coroutine": None})) is None


def test_a_subclass_of_structured_tool_is_not_well_known(grep: StructuredTool) -> None:
    class Other(StructuredTool):
        def _run(self, *_: Any, **__: Any) -> str:
            return ""

    other = Other(name="grep_search", description="x", func=grep.func, args_schema=grep.args_schema)
    assert well_known_profile(other) is None


def test_a_function_that_its_module_no_longer_holds_is_not_well_known(monkeypatch: pytest.MonkeyPatch) -> None:
    (todos,) = TodoListMiddleware().tools
    assert well_known_profile(todos) is not None
    monkeypatch.setattr(todo_module, "_write_todos", lambda runtime, todos: None)
    assert well_known_profile(todos) is None


def test_a_tool_of_the_same_name_is_unclassified() -> None:
    ran = Recorder()
    names = {tool.name for tools in WELL_KNOWN_TOOLS.values() for tool in tools}
    assert len(names) > 70
    assert {name for name in names if ToolCatalog().meet(ran.tool(name)).tier is not None} == set()


def test_a_file_tool_has_the_tier_of_the_worst_backend_on_every_backend(tmp_path: Path) -> None:
    for backend in (StateBackend(), FilesystemBackend(root_dir=tmp_path, virtual_mode=True)):
        profile = well_known_profile(named(FilesystemMiddleware(backend=backend).tools, "write_file"))
        assert profile is not None and profile.tier is Tier.CONSEQUENTIAL


def test_a_profile_that_the_tool_carries_or_that_is_given_goes_first(grep: StructuredTool) -> None:
    carried, given = ToolProfile(tier=Tier.ROUTINE), ToolProfile(tier=Tier.CONSEQUENTIAL)
    tool = with_profile(grep, carried)
    assert ToolCatalog().meet(tool).profile is carried
    entry = ToolCatalog.from_tools([tool], profiles={"grep_search": given}).get("grep_search")
    assert entry is not None and entry.profile is given


def test_a_look_alike_does_not_take_over_the_profile_of_a_registered_well_known_tool(tmp_path: Path) -> None:
    class Alike(type(reader(tmp_path))):  # type: ignore[misc]
        """Has the definition of its base class."""

    catalog = ToolCatalog.from_tools([reader(tmp_path)])
    assert catalog.meet(reader(tmp_path)).tier is Tier.READ_ONLY
    assert catalog.meet(Alike(root_dir=str(tmp_path))).tier is None
    by_hand = ToolCatalog.from_tools([reader(tmp_path)], profiles={"read_file": ToolProfile(tier=Tier.READ_ONLY)})
    assert by_hand.meet(Alike(root_dir=str(tmp_path))).tier is Tier.READ_ONLY


def test_shells_are_never_remembered_as_a_tool() -> None:
    tools = {(package, tool.name): tool.profile for package, tools in WELL_KNOWN_TOOLS.items() for tool in tools}
    shells = [("langchain", "shell"), ("langchain-community", "terminal"), ("deepagents", "execute")]
    assert [tools[shell].tier for shell in shells] == [Tier.CONSEQUENTIAL] * 3
    assert [tools[shell].widest_memory for shell in shells] == ["never", "never", "arguments"]


def test_what_can_reach_any_address_is_neither_read_only_nor_remembered_as_a_tool() -> None:
    far = [tool for tools in WELL_KNOWN_TOOLS.values() for tool in tools if tool.profile.egress == "open"]
    assert {"requests_get", "navigate_browser", "fetch", "shell", "execute"} < {tool.name for tool in far}
    assert all(tool.profile.effective_tier.changes_state for tool in far)
    assert all(tool.profile.widest_memory != "tool" for tool in far)


def test_every_entry_gives_its_reason_in_one_line() -> None:
    for tools in WELL_KNOWN_TOOLS.values():
        for tool in tools:
            assert 3 < len(tool.profile.reason) < 110 and "\n" not in tool.profile.reason


# --- remote servers -------------------------------------------------------------------------------


async def test_a_servers_tool_is_classified_only_where_the_operator_says_which_package_runs_there(
    hatchery: Hatchery,
) -> None:
    command = hatchery.command("-m", "mcp_server_time")
    client = MultiServerMCPClient({"time": {"transport": "stdio", "command": command[0], "args": command[1:]}})
    tools = await client.get_tools()
    assert {tool.name: ToolCatalog().meet(tool).tier for tool in tools} == {
        "get_current_time": None,
        "convert_time": None,
    }
    undeclared, declared = ToolCatalog(), ToolCatalog()
    undeclared.add_remote(RemoteServer("time", launch=tuple(command)), tools)
    profiles = well_known_profiles("mcp-server-time")
    declared.add_remote(RemoteServer("time", launch=tuple(command), profiles=profiles), tools)
    assert [entry.tier for entry in undeclared.entries()] == [None, None]
    assert [entry.tier for entry in declared.entries()] == [Tier.READ_ONLY, Tier.READ_ONLY]


def test_a_servers_hint_still_raises_the_tier_of_a_ready_profile() -> None:
    catalog = ToolCatalog()
    tool = Recorder().tool("get_current_time").model_copy(update={"metadata": {"destructiveHint": True}})
    catalog.add_remote(RemoteServer("time", profiles=well_known_profiles("mcp-server-time")), [tool])
    assert [entry.tier for entry in catalog.entries()] == [Tier.CONSEQUENTIAL]


def test_profiles_of_an_unknown_package_are_an_error_that_names_those_there_are() -> None:
    with pytest.raises(CatalogError, match=r"'mcp-server-tiem'.*'mcp-server-time'"):
        well_known_profiles("mcp-server-tiem")


def test_the_profiles_of_a_package_are_a_new_dict_each_time() -> None:
    well_known_profiles("mcp-server-time").clear()
    assert len(well_known_profiles("mcp-server-time")) == 2


def test_nothing_of_those_packages_is_loaded_to_recognise_their_tools() -> None:
    code = "import sys, toolgate_langchain.catalog.wellknown; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint({"langchain", "langgraph", "deepagents", "langchain_community", "mcp"})
