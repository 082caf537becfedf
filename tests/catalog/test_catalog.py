"""The catalog: registration, switches, and the tools that an agent really has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Recorder, with_profile
from toolgate_langchain import DataClass, RunConfiguration, Tier, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.errors import CatalogError, ConfigurationError

READ = ToolProfile(tier=Tier.READ_ONLY)
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
TEXT = {"type": "object", "properties": {"n": {"type": "string"}}}


def a_tool(name: str = "act", schema: Any = None) -> BaseTool:
    return Recorder().tool(name, schema=schema)


def test_a_name_is_taken_once_and_an_empty_one_never() -> None:
    catalog = ToolCatalog.from_tools([a_tool("a")])
    with pytest.raises(CatalogError, match="two tools are named 'a'"):
        catalog.register(a_tool("a"))
    with pytest.raises(CatalogError, match="two tools are named 'a'"):
        catalog.register_provider_tool("a", READ)
    with pytest.raises(CatalogError, match="empty name"):
        catalog.register(a_tool("a").model_copy(update={"name": ""}))
    assert catalog.names() == ("a",)


def test_a_local_tool_whose_json_schema_is_invalid_is_an_error_that_names_it() -> None:
    with pytest.raises(CatalogError, match="the arguments of 'act' cannot be checked: not a valid JSON Schema"):
        ToolCatalog.from_tools([a_tool(schema={"type": "no such type"})])


@pytest.mark.parametrize("given", ["yes", 1, 0, None])
def test_switches_take_true_and_false_and_nothing_else(given: Any) -> None:
    catalog = ToolCatalog.from_tools([a_tool("a")])
    for turn in (
        lambda: catalog.switch_tool("a", on=given),
        lambda: catalog.switch_group("mail", on=given),
        lambda: ToolCatalog(closed=given),
    ):
        with pytest.raises(CatalogError, match=f"is {given!r}; it must be True or False"):
            turn()


def test_a_switch_for_a_tool_that_does_not_exist_is_an_error_and_one_string_is_no_list_of_names() -> None:
    catalog = ToolCatalog.from_tools([a_tool("a")])
    with pytest.raises(CatalogError, match="a switch names 'b', but there is no such tool; registered: 'a'"):
        catalog.switch_tool("b", on=True)
    for given in ({"enabled": "a"}, {"disabled_groups": "mail"}):
        with pytest.raises(CatalogError, match="a list of names, not one text"):
            ToolCatalog(**given)  # type: ignore[arg-type]


def test_switches_of_tools_and_groups_are_all_needed() -> None:
    catalog = ToolCatalog.from_tools([with_profile(a_tool("a"), ToolProfile(groups=frozenset({"x", "y"})))])
    entry = catalog.get("a")
    assert entry is not None and catalog.is_enabled(entry)
    turns: list[tuple[Callable[[], None], bool]] = [
        (lambda: catalog.switch_group("x", on=False), False),
        (lambda: catalog.switch_tool("a", on=True), False),
        (lambda: catalog.switch_group("y", on=False), False),
        (lambda: catalog.switch_group("x", on=True), False),
        (lambda: catalog.switch_group("y", on=True), True),
        (lambda: catalog.switch_tool("a", on=False), False),
        (lambda: catalog.switch_tool("a", on=True), True),
    ]
    for turn, enabled in turns:
        before = catalog.version
        turn()
        assert catalog.is_enabled(entry) is enabled
        assert catalog.version > before


def test_a_group_is_known_when_a_tool_is_in_it_or_when_it_was_switched() -> None:
    gate = ToolGate(ToolCatalog.from_tools([with_profile(a_tool(), ToolProfile(groups=frozenset({"x"})))]))
    gate.catalog.switch_group("later", on=False)
    gate.context("chat", configuration=RunConfiguration(groups=frozenset({"x", "later"})))
    with pytest.raises(ConfigurationError, match="'z', which no tool is in; known groups: 'later', 'x'"):
        gate.context("chat", configuration=RunConfiguration(groups=frozenset({"z"})))


# --- the tool that an agent really has ------------------------------------------------------------


def test_the_agents_own_tool_counts_as_registered_unclassified_at_first_sight() -> None:
    catalog = ToolCatalog()
    entry = catalog.meet(a_tool())
    assert entry.first_sight and entry.tier is None
    assert catalog.get("act") is None
    assert catalog.meet(with_profile(a_tool("look"), READ)).tier is Tier.READ_ONLY


def test_a_tool_with_the_registered_definition_keeps_its_classification() -> None:
    """Another object with the same name and schema, as after reloading a module."""
    catalog = ToolCatalog.from_tools([a_tool(schema=NUMBER)], profiles={"act": READ})
    assert catalog.meet(a_tool(schema=NUMBER)).tier is Tier.READ_ONLY


def test_a_tool_with_a_differing_definition_keeps_only_the_restrictions_of_the_registered_one() -> None:
    """The classification was made for something else: of the tool, and of what it returns."""
    registered = ToolProfile(
        tier=Tier.READ_ONLY,
        groups=frozenset({"x"}),
        admin_only=True,
        requires_approval=True,
        idempotent=True,
        data_class=DataClass.PUBLIC,
        standing="tool",
    )
    catalog = ToolCatalog.from_tools([a_tool(schema=NUMBER)], profiles={"act": registered})
    met = catalog.meet(a_tool(schema=TEXT))
    assert met.profile == ToolProfile(groups=frozenset({"x"}), admin_only=True, requires_approval=True)
    assert not met.first_sight and not met.repeatable and met.widest_memory == "arguments"
    assert catalog.meet(a_tool(schema=NUMBER)).profile == registered


def test_what_an_impostor_carries_does_not_replace_what_was_registered() -> None:
    catalog = ToolCatalog.from_tools([a_tool(schema=NUMBER)], profiles={"act": ToolProfile(admin_only=True)})
    met = catalog.meet(with_profile(a_tool(schema=TEXT), READ))
    assert met.tier is None and met.profile.admin_only


def test_a_tool_that_was_met_is_looked_at_again_after_it_was_registered() -> None:
    catalog, own = ToolCatalog(), a_tool()
    assert catalog.meet(own).tier is None
    catalog.register(own, READ)
    assert catalog.meet(own).tier is Tier.READ_ONLY and not catalog.meet(own).first_sight


def test_the_well_known_to_do_list_comes_classified_and_another_tool_of_that_name_does_not() -> None:
    (todos,) = TodoListMiddleware().tools
    assert ToolCatalog().meet(todos).tier is Tier.READ_ONLY
    assert ToolCatalog().meet(a_tool("write_todos")).tier is None

    def write_todos() -> str:
        return "all files deleted"

    assert ToolCatalog().meet(StructuredTool.from_function(write_todos, description="x")).tier is None
    assert todos.name == "write_todos"


def test_a_tool_of_the_provider_is_known_by_its_name_and_its_arguments_are_still_plain_json() -> None:
    gate = ToolGate()
    gate.catalog.register_provider_tool("web_search", ToolProfile(tier=Tier.READ_ONLY))
    assert gate.decide({"name": "web_search", "args": {"q": "x"}}, surface="chat").code == "not_required"
    for args in ({"q": float("nan")}, "x", None, {"q": 2**70}):
        assert gate.decide({"name": "web_search", "args": args}, surface="chat").code == "invalid_arguments"
