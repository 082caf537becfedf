"""Everything public that is given the wrong thing says so with the package's own error, naming the field."""

import sys
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

from tests.support import Recorder
from toolgate_langchain import (
    EgressPolicy,
    FlowPolicy,
    InMemoryLedger,
    MissingExtraError,
    ResourcePolicy,
    SqlLedger,
    ToolCatalog,
    ToolGate,
    drive,
    pending_requests,
    replay_record,
    well_known_profiles,
)
from toolgate_langchain.approvals.ready_heuristics import (
    AllowedCommand,
    ApprovedBefore,
    ArgumentEquals,
    GivenByPerson,
    PathInside,
    ReadOnlySql,
    ShellCommands,
)
from toolgate_langchain.errors import ConfigurationError, needs_extra, needs_installed
from toolgate_langchain.hosts.toolkits import FileResources, SqlResources


def catalog() -> Any:
    return ToolCatalog.from_tools([Recorder().tool("read")])


def gate() -> Any:
    return ToolGate(catalog())


def untyped(made: Any) -> Any:
    return made


WRONG: list[tuple[Callable[[], Any], str]] = [
    # The policies: one argument where only named ones are taken, a name that there is not, and wrong values.
    (lambda: untyped(EgressPolicy)("x"), r"EgressPolicy\(...\).*it takes sites, endpoints, widest"),
    (lambda: untyped(ResourcePolicy)("x"), r"ResourcePolicy\(...\).*it takes rights, denied, admin_only, known"),
    (lambda: untyped(FlowPolicy)("x"), r"FlowPolicy\(...\).*it takes observe, label"),
    (lambda: untyped(EgressPolicy)(site=["https://a.example"]), "'site'; it takes sites, endpoints, widest"),
    (lambda: untyped(EgressPolicy)(sites=5), "sites is 5; it must be a list"),
    (lambda: untyped(EgressPolicy)(endpoints=None), "endpoints is None; it must be a list"),
    (lambda: untyped(ResourcePolicy)(denied=5), "denied is 5; it must be a list"),
    (lambda: untyped(ResourcePolicy)(admin_only=None), "admin_only is None; it must be a list"),
    (lambda: untyped(ResourcePolicy)(known=5), "known is 5; it must be a list"),
    (lambda: untyped(ResourcePolicy)(rights=5), "rights is 5; it must be a function, or names by caller id"),
    (lambda: untyped(ResourcePolicy)(rights={"ann": 5}), r"rights\['ann'\] is 5; it must be a list"),
    (lambda: untyped(ResourcePolicy)(separator=""), "separator is ''; it must be a text that is not empty"),
    # The catalog.
    (lambda: untyped(ToolCatalog)(enabled=5), "enabled is 5; it must be a list"),
    (lambda: untyped(ToolCatalog)(disabled_groups=None), "disabled_groups is None; it must be a list"),
    (lambda: untyped(ToolCatalog)(disabled_groups=[None]), "disabled_groups has None, which is not a name"),
    (lambda: untyped(ToolCatalog).from_tools(5), "tools is 5; it must be a list"),
    (lambda: untyped(ToolCatalog).from_tools(["read"]), "'read' is neither a tool nor a function"),
    (lambda: untyped(ToolCatalog).from_tools([], profiles=["read"]), r"profiles is \['read'\]; it must be a mapping"),
    (lambda: catalog().register("read"), "'read' is neither a tool nor a function"),
    (lambda: catalog().add_remote("games", []), "server is 'games', which is not a RemoteServer"),
    (lambda: catalog().switch_tool(["read"], on=True), r"the tool to switch is \['read'\]; it must be a name"),
    (lambda: catalog().switch_group(["media"], on=True), r"the group to switch is \['media'\]; it must be a name"),
    # The gate.
    (lambda: gate().surface(["chat"]), r"unknown surface \['chat'\]; known: 'chat'"),
    (lambda: gate().decide_offer(["read"], surface="chat"), r"names holds \['read'\], which is not a tool's name"),
    (lambda: gate().decide({"name": "read", "args": {}}, surface="chat", rules=5), "rules is 5; it must be a list"),
    (lambda: gate().decide({"name": "read", "args": {}}, surface="chat", rules=[5]), "rules holds 5"),
    (lambda: gate().decide({"name": "read", "args": {}}, surface="chat", memory=5), "memory is 5.*not a RunMemory"),
    (lambda: gate().decide({"name": "read", "args": {}}, surface="chat", facts=5), "facts is 5.*not a CallFacts"),
    (lambda: gate().graph(5), "tools is 5; it must be a list"),
    (lambda: gate().graph(["read"]), "'read' is neither a tool nor a function"),
    (lambda: gate().graph([], messages_key=[]), r"messages_key is \[\]; it must be the name of a channel"),
    (lambda: gate().graph([], state=5), "state is 5; it must be the class of the graph's state"),
    # Ledgers, and what drives and reads.
    (lambda: untyped(InMemoryLedger)(lease=5), "lease must be longer than nothing, not 5; it is a timedelta"),
    (lambda: untyped(InMemoryLedger)(keep="all"), "keep must not be negative, not 'all'"),
    (lambda: untyped(InMemoryLedger)(clock=5), "clock is 5, which cannot be called"),
    (lambda: untyped(SqlLedger)("sqlite://", lease=timedelta(0)), "lease must be longer than nothing"),
    (lambda: untyped(SqlLedger)("sqlite://", clock=5), "clock is 5, which cannot be called"),
    (lambda: untyped(drive)(5, None, approver=print), "agent is 5, which is not an agent"),
    (lambda: untyped(pending_requests)(5), "interrupts is 5; it must be a list"),
    (lambda: untyped(pending_requests)([5]), "interrupts holds 5, which is not an Interrupt"),
    (lambda: untyped(replay_record)(5), "lines is 5; it must be lines"),
    (lambda: untyped(well_known_profiles)(["deepagents"]), "no well-known tools are written down"),
    # Heuristics and toolkits.
    (lambda: untyped(ArgumentEquals)("read", 5, ["a"]), "argument is wrong: 5 is not the name"),
    (lambda: untyped(ArgumentEquals)("read", "path", ["a"], others=5), "others is 5; it must be a list"),
    (lambda: untyped(GivenByPerson)(5, ["to"]), "tool is 5; it must be a name"),
    (lambda: untyped(GivenByPerson)("send", 5), "arguments is 5; it must be a list"),
    (lambda: untyped(ApprovedBefore)(5, 5, InMemoryLedger()), "tool is 5; it must be a name"),
    (lambda: untyped(AllowedCommand)(5), "words is 5; it must be a text"),
    (lambda: untyped(AllowedCommand)("ls", options=["-l", 5]), "options is .* it must be a set of words"),
    (lambda: untyped(AllowedCommand)("ls", operands="yes"), "operands is 'yes'; it must be True or False"),
    (lambda: untyped(ShellCommands)("run", "command", [5]), "allowed has 5, which is neither a text nor"),
    (lambda: untyped(PathInside)("read", "path", 5), "root is 5; it must be a path"),
    (lambda: untyped(ReadOnlySql)("query", "sql", ["sqlite"]), r"dialect is \['sqlite'\]; it must be a name"),
    (lambda: untyped(FileResources)(5, ResourcePolicy()), "root is 5; it must be a path"),
    (lambda: untyped(FileResources)("/", "all"), "policy is 'all', which is not a ResourcePolicy"),
    (lambda: untyped(SqlResources)("all"), "policy is 'all', which is not a ResourcePolicy"),
    (lambda: untyped(SqlResources)(ResourcePolicy(), read_only="yes"), "read_only is 'yes'; it must be True or False"),
    (lambda: untyped(SqlResources)(ResourcePolicy(), functions=5), "functions is 5; it must be a list"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG, ids=[says for _, says in WRONG])
def test_the_wrong_thing_is_a_configuration_error_that_names_it(wrong: Callable[[], Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        wrong()


# --- libraries that are not installed ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "module", "extra"),
    [
        ("langgraph", "toolgate_langchain.hosts.langgraph.middleware", "agents"),
        ("langchain", "toolgate_langchain.hosts.langgraph.middleware", "agents"),
        ("langgraph", "toolgate_langchain.hosts.graphs.graph", "agents"),
        ("sqlalchemy", "toolgate_langchain.approvals.sql.ledger", "sql"),
    ],
)
def test_a_module_that_is_named_directly_says_which_extra_brings_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, library: str, module: str, extra: str
) -> None:
    folder = module.rpartition(".")[0]
    for name in [name for name in sys.modules if name == folder or name.startswith(f"{folder}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"{folder} needs .*toolgate-langchain\[{extra}\]"):
        import_module(module)


def test_what_was_wanted_is_named_and_not_the_part_that_could_not_be_loaded_for_it() -> None:
    with (
        pytest.raises(MissingExtraError, match=r"ToolGate.graph needs an optional library") as raised,
        needs_extra("ToolGate.graph", "console"),
    ):
        needs_installed("toolgate_langchain.hosts.graphs", "agents", "no_library_has_this_name")
    assert raised.value.extra == "agents"


def test_libraries_that_are_installed_are_not_missed() -> None:
    needs_installed("this test", "agents", "langchain", "langgraph", "sqlalchemy")
