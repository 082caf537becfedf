"""Misconfiguration names the tool, the field, what was given and what is allowed: names that nothing has."""

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool

from tests.support import Chat, Recorder, ScriptedModel, chat, says
from tests.support import call as a_call
from toolgate_langchain import (
    ApprovalRule,
    EgressPolicy,
    GatedAgent,
    RemoteServer,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolGateWarning,
    ToolProfile,
    tool_profile,
)
from toolgate_langchain.approvals.ready_heuristics import ArgumentEquals
from toolgate_langchain.errors import CatalogError, ConfigurationError

FREE = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"media"}))
MISSPELT = ApprovalRule(asks={"paly": ("approve",)})


def tools(*names: str) -> list[BaseTool]:
    return [Recorder().tool(name, FREE) for name in names]


def run(gate: ToolGate | None, *names: str, **more: Any) -> Chat:
    """An agent with tools of these names, that has had one turn."""
    talk = chat([AIMessage("done")] * 3, tools(*names), gate=gate, **more)
    talk.say()
    return talk


both_ways = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


# --- said once, where it is as good as certain -------------------------------------------------------


@both_ways
def test_a_rule_for_a_misspelt_tool_is_said_once_with_the_field_and_what_may_have_been_meant(
    asynchronous: bool,
) -> None:
    gate = ToolGate(approval_rule=MISSPELT)
    with pytest.warns(ToolGateWarning, match=r"approval_rule.asks names the tool 'paly'.*did you mean 'play'"):
        talk = run(gate, "play", "read", asynchronous=asynchronous)
    assert len(talk.model.seen) == 1
    talk.say()
    run(gate, "play", "send")


@both_ways
def test_a_rule_for_a_tool_that_is_there_is_not_spoken_of(asynchronous: bool) -> None:
    """The positive control; a warning would be an error here."""
    run(ToolGate(approval_rule=ApprovalRule(asks={"play": ("approve",)})), "play", "plan", asynchronous=asynchronous)


def test_interrupt_on_is_named_as_it_was_written() -> None:
    gated = ToolGateMiddleware.from_interrupt_on({"paly": True, "read": False})
    with pytest.warns(ToolGateWarning, match="interrupt_on names the tool 'paly'"):
        run(None, "play", "read", middleware=[gated])


def test_a_heuristic_for_a_misspelt_tool_is_said() -> None:
    with pytest.warns(ToolGateWarning, match=r"heuristics\[0\] names the tool 'reads'.*did you mean 'read'"):
        run(ToolGate(heuristics=[ArgumentEquals("reads", "path", ["a"])]), "read")


def test_a_misspelt_group_that_is_switched_off_later_is_said() -> None:
    catalog = ToolCatalog.from_tools(tools("play"))
    catalog.switch_group("medai", on=False)
    with pytest.warns(ToolGateWarning, match=r"disabled_groups names the group 'medai'.*did you mean 'media'"):
        run(ToolGate(catalog), "play")


def test_a_gated_agent_says_it_too() -> None:
    agent = GatedAgent(ScriptedModel(script=[AIMessage("done")]), tools("play"), ToolGate(approval_rule=MISSPELT))
    with pytest.warns(ToolGateWarning, match="approval_rule.asks names the tool 'paly'"):
        agent.invoke({"messages": [("user", "go")]})


# --- never in a sound set-up -------------------------------------------------------------------------


def test_a_name_that_another_agent_of_the_gate_has_is_not_spoken_of_before_that_agent_has_shown_its_tools() -> None:
    gate = ToolGate(approval_rule=MISSPELT)
    other = chat([AIMessage("done")], tools("paly"), gate=gate)
    run(gate, "play")
    other.say()


def test_it_is_said_when_the_last_agent_of_the_gate_has_shown_its_tools() -> None:
    gate = ToolGate(approval_rule=MISSPELT)
    other = chat([AIMessage("done")], tools("read"), gate=gate)
    run(gate, "play")
    with pytest.warns(ToolGateWarning, match="'paly'"):
        other.say()


class Selecting(AgentMiddleware[Any, Any, Any]):
    """Offers the first tool only, as middleware that selects tools does."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tools=request.tools[:1]))


def test_a_tool_that_other_middleware_does_not_offer_yet_is_a_tool_of_the_agent() -> None:
    gate = ToolGate(approval_rule=MISSPELT)
    run(gate, "play", "paly", middleware=[Selecting(), ToolGateMiddleware(gate)])


def test_a_tool_on_the_record_of_a_server_that_cannot_be_reached_is_known() -> None:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("games", declarations={"paly": True}), [])
    run(ToolGate(catalog, approval_rule=MISSPELT), "play")


def test_a_name_that_is_near_to_nothing_may_be_of_a_tool_that_comes_later() -> None:
    run(ToolGate(approval_rule=ApprovalRule(asks={"edit_file": ("approve",)})), "read_file", "ls")


# --- an error, where it is certain -------------------------------------------------------------------


def test_a_closed_catalog_has_all_names_when_the_gate_is_built() -> None:
    catalog = ToolCatalog.from_tools(tools("play", "read"), closed=True)
    with pytest.raises(ConfigurationError, match=r"approval_rule.asks names 'paly'.*did you mean 'play'.*'read'"):
        ToolGate(catalog, approval_rule=MISSPELT)
    ToolGate(catalog, approval_rule=ApprovalRule(asks={"play": ("approve",)}))


@both_ways
def test_a_closed_catalog_that_is_filled_later_is_looked_at_before_the_model_is_called(asynchronous: bool) -> None:
    catalog = ToolCatalog(closed=True)
    gate = ToolGate(catalog, approval_rule=MISSPELT)
    (play,) = tools("play")
    catalog.register(play)
    talk = chat([AIMessage("done")], [play], gate=gate, asynchronous=asynchronous)
    with pytest.raises(ConfigurationError, match="'paly'"):
        talk.say()
    assert talk.model.seen == []


def test_a_group_that_no_tool_is_in_fails_when_a_catalog_is_built_from_tools() -> None:
    with pytest.raises(CatalogError, match=r"`disabled_groups` names 'medai', which no tool is in; .*: 'media'"):
        ToolCatalog.from_tools(tools("play"), disabled_groups=["medai"])
    ToolCatalog.from_tools(tools("play"), disabled_groups=["media"])


# --- arguments ---------------------------------------------------------------------------------------


@tool
def fetch(url: str, how: str = "get") -> str:
    """Fetch a page."""
    return f"{how} {url}"


MISNAMED = ToolProfile(tier=Tier.READ_ONLY, egress="configured", endpoints=("ulr",))


@pytest.mark.parametrize("field", ["endpoints", "decisive"])
def test_a_profile_that_names_an_argument_which_its_tool_does_not_have_fails_when_it_is_registered(field: str) -> None:
    """The egress policy would look past the address that it should look at."""
    wrong: dict[str, Any] = {field: ["ulr"]}
    with pytest.raises(CatalogError, match=f"{field} of the profile of 'fetch' names 'ulr'.*did you mean 'url'.*'how'"):
        ToolCatalog.from_tools([fetch], profiles={"fetch": ToolProfile(**wrong)})
    right: dict[str, Any] = {field: ["url"]}
    ToolCatalog.from_tools([fetch], profiles={"fetch": ToolProfile(**right)})


@both_ways
def test_one_that_the_agents_own_tool_carries_fails_before_the_model_is_called(asynchronous: bool) -> None:
    carries = fetch.model_copy(update={"metadata": {"toolgate": MISNAMED}})
    gate = ToolGate(argument_policies=[EgressPolicy()])
    talk = chat([says(a_call("fetch", url="http://a.example"))], [carries], gate=gate, asynchronous=asynchronous)
    with pytest.raises(ConfigurationError, match="endpoints of the profile of 'fetch' names 'ulr'"):
        talk.say()
    assert talk.model.seen == []


def test_a_tool_that_may_have_any_argument_is_left_alone() -> None:
    profile = ToolProfile(endpoints=("ulr",))
    ToolCatalog.from_tools([Recorder().tool("fetch", profile)])
    open_schema = {"type": "object", "properties": {"url": {"type": "string"}}, "additionalProperties": True}
    ToolCatalog.from_tools([Recorder().tool("fetch", profile, schema=open_schema)])


def test_a_servers_tool_without_the_argument_that_its_record_names_is_refused_and_nothing_else() -> None:
    catalog = ToolCatalog()
    (other,) = tools("other")
    refused = catalog.add_remote(RemoteServer("web", profiles={"fetch": MISNAMED}), [fetch, other])
    assert [(one.name, "names 'ulr'" in one.why) for one in refused] == [("fetch", True)]
    assert catalog.names() == ("other",)


@pytest.mark.parametrize("origin", ["github", "server:", "", 5])
def test_a_heuristic_says_where_its_tool_comes_from_in_full(origin: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"origin is .*; it must be 'local' or 'server:NAME'"):
        ArgumentEquals("read", "path", ["a"], origin=origin)
    ArgumentEquals("read", "path", ["a"], origin="server:github")


def test_a_decorated_tool_is_held_to_its_arguments_like_any_other() -> None:
    with pytest.raises(CatalogError, match="decisive of the profile of 'fetch' names 'recipient'"):
        ToolCatalog().register(tool_profile(decisive={"recipient"})(fetch))
