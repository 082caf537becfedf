"""Profiles: what a tool is, and how a profile gets onto a tool."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from pydantic import ValidationError

from tests.support import Recorder, with_profile
from toolgate_langchain import DataClass, Tier, ToolCatalog, ToolProfile, tool_profile
from toolgate_langchain.catalog.profile import claims_profile, profile_of
from toolgate_langchain.errors import CatalogError

MAIL = ToolProfile(tier=Tier.CONSEQUENTIAL, groups=frozenset({"mail"}))


def test_tool_profile_works_above_and_below_langchains_tool() -> None:
    @tool_profile(tier=Tier.CONSEQUENTIAL, groups={"mail"})
    @tool
    def above(to: str) -> str:
        """Send."""
        return to

    @tool
    @tool_profile(tier=Tier.CONSEQUENTIAL, groups={"mail"})
    def below(to: str) -> str:
        """Send."""
        return to

    @tool
    @tool_profile(tier=Tier.CONSEQUENTIAL, groups={"mail"})
    async def asynchronous(to: str) -> str:
        """Send."""
        return to

    @tool
    def bare(to: str) -> str:
        """Send."""
        return to

    assert [profile_of(one) for one in (above, below, asynchronous, bare)] == [MAIL, MAIL, MAIL, None]
    assert [entry.profile for entry in ToolCatalog.from_tools([above, below, asynchronous, bare]).entries()] == [
        MAIL,
        MAIL,
        MAIL,
        ToolProfile(),
    ]


def test_a_function_as_create_agent_takes_it_keeps_its_profile() -> None:
    @tool_profile(tier=Tier.READ_ONLY)
    def look(at: str) -> str:
        """Look."""
        return at

    (entry,) = ToolCatalog.from_tools([look]).entries()
    assert (entry.name, entry.tier) == ("look", Tier.READ_ONLY)


def test_the_tool_that_a_profile_is_put_on_is_copied() -> None:
    """The same tool can have another profile elsewhere."""
    one = Recorder().tool("one").model_copy(update={"metadata": {"team": "ops"}})
    other = tool_profile(tier=Tier.READ_ONLY)(one)
    assert profile_of(one) is None
    assert other.metadata == {"team": "ops", "toolgate": ToolProfile(tier=Tier.READ_ONLY)}


def test_a_profile_given_by_name_replaces_the_one_that_the_tool_carries() -> None:
    carrying = with_profile(Recorder().tool("act"), MAIL)
    given = ToolProfile(tier=Tier.READ_ONLY)
    for profiles, expected in (({}, MAIL), ({"act": given}, given)):
        entry = ToolCatalog.from_tools([carrying], profiles=profiles).get("act")
        assert entry is not None and entry.profile == expected


def test_a_profile_for_a_tool_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(
        CatalogError, match="a profile is given for 'sned', but there is no such tool; registered: 'send'"
    ):
        ToolCatalog.from_tools([Recorder().tool("send")], profiles={"sned": MAIL})
    with pytest.raises(CatalogError, match="`enabled` names 'sned', but there is no such tool"):
        ToolCatalog.from_tools([Recorder().tool("send")], enabled=["sned"])


@pytest.mark.parametrize("given", [{"tier": "read_only"}, "read_only", True])
def test_a_profile_that_is_none_is_an_error_that_names_the_tool(given: Any) -> None:
    with pytest.raises(CatalogError, match=r"the profile given for 'send' is .* not a ToolProfile"):
        ToolCatalog.from_tools([Recorder().tool("send")], profiles={"send": given})
    with pytest.raises(CatalogError, match=r"the profile given for 'web' is .* not a ToolProfile"):
        ToolCatalog().register_provider_tool("web", given)


def test_what_is_neither_a_tool_nor_a_function_takes_no_profile() -> None:
    with pytest.raises(CatalogError, match="expects a tool or a function, not 'send'"):
        tool_profile(tier=Tier.READ_ONLY)("send")  # type: ignore[type-var]


@pytest.mark.parametrize(
    "fields",
    [
        {"tier": "harmless"},
        {"tier": True},
        {"groups": "mail"},
        {"groups": {""}},
        {"groups": {1}},
        {"approval_when": "always"},
        {"standing": "always"},
        {"data_class": "private"},
        {"reason": None},
        {"tire": Tier.READ_ONLY},
        {"input_schema": {}},
        {"input_schema": {"type": "object"}},
        {"input_schema": {"type": "object", "properties": {}}},
        {"input_schema": {"properties": {"city": {}}}},
    ],
    ids=repr,
)
def test_a_field_with_a_wrong_value_is_an_error_that_names_the_field(fields: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, TypeError), match=next(iter(fields))):
        ToolProfile(**fields)


def test_names_of_scales_are_taken_for_their_members() -> None:
    """As they are written in a file."""
    profile = ToolProfile(tier="read_only", data_class="secret", groups=["mail"])  # type: ignore[arg-type]
    assert (profile.tier, profile.data_class, profile.groups) == (
        Tier.READ_ONLY,
        DataClass.SECRET,
        frozenset({"mail"}),
    )


def test_a_dict_under_the_profiles_key_is_ignored_and_reported() -> None:
    """A remote server could send one; an instance it cannot send."""
    claiming: BaseTool = Recorder().tool("act").model_copy(update={"metadata": {"toolgate": {"tier": "read_only"}}})
    assert claims_profile(claiming) and profile_of(claiming) is None
    for met in (False, True):
        catalog = ToolCatalog()
        if met:
            catalog.meet(claiming)
            entry = catalog.meet(claiming)
        else:
            catalog.register(claiming)
            entry = catalog.meet(claiming)
        assert entry.tier is None
        assert [(one.name, one.why) for one in catalog.refused] == [
            ("act", "it tries to supply its own profile; ignored")
        ]


def test_a_profile_is_no_permission_by_itself_but_says_what_may_be_remembered_and_repeated() -> None:
    for tier, memory, repeatable in (
        (Tier.READ_ONLY, "tool", True),
        (Tier.ROUTINE, "tool", False),
        (Tier.CONSEQUENTIAL, "arguments", False),
        (None, "arguments", False),
    ):
        assert (ToolProfile(tier=tier).widest_memory, ToolProfile(tier=tier).repeatable) == (memory, repeatable)
    assert ToolProfile(standing="never").widest_memory == "never"
    assert ToolProfile(idempotent=True).repeatable
