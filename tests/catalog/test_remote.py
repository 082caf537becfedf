"""Remote servers: what an operator declares of their tools, and what a server may say itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from tests.support import Recorder, with_profile
from toolgate_langchain import Tier, ToolCatalog, ToolProfile
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.remote import Declaration, RemoteServer

READ = ToolProfile(tier=Tier.READ_ONLY)


def sent(name: str = "act", *, metadata: Mapping[str, Any] | None = None, **update: Any) -> BaseTool:
    """A tool as a server sends it."""
    return Recorder().tool(name).model_copy(update={"metadata": dict(metadata or {}), **update})


def entry_of(server: RemoteServer, *versions: BaseTool) -> CatalogEntry:
    """The entry after the server sent each version of its one tool."""
    catalog = ToolCatalog()
    for version in versions or (sent(),):
        catalog.add_remote(server, [version])
    entry = catalog.get("act")
    assert entry is not None
    return entry


# --- hints ----------------------------------------------------------------------------------------

HINTED = [
    ({"readOnlyHint": True}, Tier.READ_ONLY),
    ({"readOnlyHint": False}, Tier.CONSEQUENTIAL),
    ({"readOnlyHint": False, "destructiveHint": False}, Tier.ROUTINE),
    ({"destructiveHint": True}, Tier.CONSEQUENTIAL),
    ({"readOnlyHint": True, "destructiveHint": True}, Tier.CONSEQUENTIAL),
]


@pytest.mark.parametrize(("hints", "hinted"), HINTED, ids=repr)
@pytest.mark.parametrize("tier", list(Tier))
def test_hints_raise_a_tier_and_never_lower_it(hints: dict[str, bool], hinted: Tier, tier: Tier) -> None:
    server = RemoteServer("srv", profiles={"act": ToolProfile(tier=tier)})
    for trusted in (False, True):
        raised = entry_of(replace(server, trust_hints=trusted), sent(metadata=hints))
        assert raised.tier is max(tier, hinted)
    assert entry_of(server).tier is tier


@pytest.mark.parametrize(("hints", "hinted"), HINTED, ids=repr)
def test_hints_classify_a_tool_only_where_the_operator_trusts_the_servers_hints(
    hints: dict[str, bool], hinted: Tier
) -> None:
    assert entry_of(RemoteServer("srv"), sent(metadata=hints)).tier is None
    assert entry_of(RemoteServer("srv", trust_hints=True), sent(metadata=hints)).tier is hinted


@pytest.mark.parametrize("said", [1, "true", "True", [True], None])
def test_what_is_not_exactly_a_bool_is_no_hint(said: Any) -> None:
    trusting = RemoteServer("srv", trust_hints=True)
    assert entry_of(trusting, sent(metadata={"readOnlyHint": said})).tier is None
    assert entry_of(trusting, sent(metadata={"readOnlyHint": True})).tier is Tier.READ_ONLY


def test_titles_descriptions_and_meta_classify_nothing() -> None:
    metadata = {"title": "Read only", "_meta": {"readOnlyHint": True, "toolgate": {"tier": "read_only"}}}
    entry = entry_of(RemoteServer("srv", trust_hints=True), sent(metadata=metadata, description="Safe and read-only."))
    assert entry.tier is None


def test_nothing_that_a_server_sends_supplies_a_profile_and_trying_is_reported() -> None:
    """Neither a dict, nor, where the tools come from code, an instance."""
    catalog = ToolCatalog()
    instance = with_profile(sent("b"), READ)
    refused = catalog.add_remote(
        RemoteServer("srv"), [sent("a", metadata={"toolgate": {"tier": "read_only"}}), instance]
    )
    assert refused == ()
    assert [entry.tier for entry in catalog.entries()] == [None, None]
    assert [(one.server, one.name, one.why) for one in catalog.refused] == [
        ("srv", "a", "it tries to supply its own profile; ignored"),
        ("srv", "b", "it tries to supply its own profile; ignored"),
    ]


# --- declarations ---------------------------------------------------------------------------------


def test_a_declaration_names_its_tools_and_all_of_them_must_be_written_out() -> None:
    for declarations, declared in (
        (None, None),
        ({}, None),
        ({"act": False}, False),
        ({"act": True}, True),
        ({"*": False}, False),
        ({"*": False, "act": True}, True),
    ):
        assert entry_of(RemoteServer("srv", declarations=declarations)).declared is declared


@pytest.mark.parametrize("named", ["Act", "act*", "ac", "act "])
@pytest.mark.parametrize("what", ["a declaration", "a declaration beside one for all", "a profile"])
def test_a_declaration_or_profile_for_a_tool_that_the_server_does_not_list_is_reported(named: str, what: str) -> None:
    """And until it is put right, what the record does not name is not taken in: it may be what was meant."""
    profiles = {"known": READ, **({named: ToolProfile(admin_only=True)} if what == "a profile" else {})}
    declared = {named: True} if what != "a profile" else {}
    every = {"*": False} if what == "a declaration beside one for all" else {}
    catalog = ToolCatalog()
    refused = catalog.add_remote(
        RemoteServer("srv", declarations={**declared, **every}, profiles=profiles), [sent(), sent("known")]
    )
    assert catalog.names() == ("known",)
    assert refused == catalog.refused
    assert [(one.server, one.name) for one in refused] == [("srv", named), ("srv", "act")]
    assert "it lists: act, known" in refused[0].why
    assert f"names {named!r}, which is not listed, and this may be what was meant" in refused[1].why
    catalog.add_remote(RemoteServer("srv", declarations={"act": True, **every}, profiles={"known": READ}), [sent()])
    assert catalog.names() == ("act",)
    catalog.add_remote(RemoteServer("srv", declarations={"act": True, **every}), [sent(), sent("known")])
    assert catalog.names() == ("act", "known")


def test_a_declaration_holds_for_the_definition_that_it_was_made_for() -> None:
    """For the one first registered, or for the one whose fingerprint it names."""
    server = RemoteServer("srv", declarations={"act": False})
    before = sent()
    for changed in (
        sent(description="Now deletes everything."),
        sent(metadata={"destructiveHint": False}),
        sent(args_schema={"type": "object", "properties": {"path": {"type": "string"}}}),
    ):
        assert entry_of(server, before).declared is False
        assert entry_of(server, before, before).declared is False
        assert entry_of(server, before, changed).declared is None
        assert entry_of(server, before, changed, before).declared is False


def test_a_declaration_with_a_fingerprint_holds_for_that_definition_alone() -> None:
    fingerprint = entry_of(RemoteServer("srv")).fingerprint
    for made_for, declared in ((fingerprint, False), ("0" * 64, None), ("", None), (None, False)):
        declaration = Declaration(requires_approval=False, fingerprint=made_for)
        assert entry_of(RemoteServer("srv", declarations={"act": declaration})).declared is declared


def test_a_declaration_does_not_hold_for_the_tool_that_an_agent_has_in_place_of_the_servers() -> None:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("srv", declarations={"act": False}), [sent()])
    assert catalog.meet(sent()).declared is False
    assert catalog.meet(sent(description="Something else.")).declared is None


def test_a_server_may_not_take_over_the_name_of_another_one() -> None:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("srv", ("good",), declarations={"act": False}), [sent()])
    refused = catalog.add_remote(RemoteServer("srv", ("evil",), declarations={"act": False}), [sent()])
    assert [one.why for one in refused] == ["another server has this name with another launch identity"]
    entry = catalog.get("act")
    assert entry is not None and entry.server is not None and entry.server.launch == ("good",)


def test_a_server_that_comes_back_under_another_launch_identity_has_no_declarations() -> None:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("srv", ("good",), declarations={"act": False}), [sent()])
    catalog.add_remote(RemoteServer("srv", ("good",)), [])
    catalog.add_remote(RemoteServer("srv", ("evil",), declarations={"act": False}), [sent()])
    entry = catalog.get("act")
    assert entry is not None and entry.declared is None


# --- lists ----------------------------------------------------------------------------------------


def test_called_again_it_takes_the_servers_new_list_and_leaves_other_servers_alone() -> None:
    catalog = ToolCatalog.from_tools([Recorder().tool("local")])
    catalog.add_remote(RemoteServer("one"), [sent("a"), sent("b")])
    catalog.add_remote(RemoteServer("two"), [sent("c")])
    catalog.add_remote(RemoteServer("one"), [sent("b"), sent("d")])
    assert catalog.names() == ("local", "c", "b", "d")


def test_two_servers_with_one_name_the_first_keeps_it() -> None:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("one"), [sent()])
    (refused,) = catalog.add_remote(RemoteServer("two"), [sent(), sent("b")])
    assert (refused.server, refused.name, refused.why) == ("two", "act", "its name is taken by a tool of server:one")
    assert [(entry.name, entry.origin) for entry in catalog.entries()] == [("act", "server:one"), ("b", "server:two")]


def test_a_name_that_a_server_does_not_list_for_a_moment_is_not_free_for_another_server() -> None:
    """An agent may still have the tool, and it would be judged by what was declared of the other one."""

    def fails() -> list[BaseTool]:
        raise TimeoutError

    tool, catalog = sent(), ToolCatalog()
    careful, other = RemoteServer("one", declarations={"act": True}), RemoteServer("two", declarations={"*": False})
    catalog.add_remote(careful, [tool])
    catalog.add_remote(careful, fails)
    (refused,) = catalog.add_remote(other, [sent()])
    assert (refused.server, refused.why) == ("two", "its name is taken by a tool of server:one")
    assert catalog.meet(tool).origin == "server:one" and catalog.meet(tool).withheld
    catalog.add_remote(careful, [tool])
    assert catalog.meet(tool).declared is True and not catalog.meet(tool).withheld


def test_a_local_tool_takes_such_a_name_and_the_servers_tool_is_not_taken_for_it() -> None:
    remote, catalog = sent(), ToolCatalog()
    server = RemoteServer("one", declarations={"act": True})
    catalog.add_remote(server, [remote])
    catalog.add_remote(server, [])
    local = with_profile(sent(), READ)
    catalog.register(local)
    assert catalog.meet(local).tier is Tier.READ_ONLY
    assert catalog.meet(remote).withheld and catalog.meet(remote).tier is None


def test_a_tool_whose_definition_cannot_be_read_is_lost_and_nothing_else() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"properties": {"x": deep}}
    bad = [
        {"type": "nothing"},
        {"$schema": ["x"]},
        {"properties": {"x": {"default": float("nan")}}},
        deep,
        {1: 2, "a": 3},
    ]
    catalog = ToolCatalog()
    listed: list[Any] = [sent(f"bad{n}", args_schema=schema) for n, schema in enumerate(bad)]
    listed += ["not a tool", None]
    refused = catalog.add_remote(RemoteServer("srv"), [*listed, sent("good")])
    assert catalog.names() == ("good",)
    assert [one.name for one in refused] == ["bad0", "bad1", "bad2", "bad3", "bad4", "?", "?"]
    assert {one.why for one in refused[5:]} == {"not a tool but str", "not a tool but NoneType"}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"name": "a\u202eb"},
        {"name": "srv", "declarations": {"act": "yes"}},
        {"name": "srv", "declarations": {"act": {"requires_approval": False}}},
        {"name": "srv", "declarations": {1: True}},
        {"name": "srv", "profiles": {"act": {"tier": "read_only"}}},
        {"name": "srv", "launch": "python server.py"},
        {"name": "srv", "trust_hint": True},
    ],
    ids=repr,
)
def test_a_record_with_a_wrong_field_is_an_error_that_names_it(fields: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, TypeError), match=list(fields)[-1]):
        RemoteServer(**fields)


def test_the_tier_that_an_operator_gave_is_kept_for_every_combination_of_missing_hints() -> None:
    for tier, read_only, destructive in product((*Tier, None), (None, "x"), (None, False)):
        hints = {"readOnlyHint": read_only, "destructiveHint": destructive}
        assert (
            entry_of(RemoteServer("srv", profiles={"act": ToolProfile(tier=tier)}), sent(metadata=hints)).tier is tier
        )
