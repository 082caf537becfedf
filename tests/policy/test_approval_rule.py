"""The approval rule on its own: which line of it applies, in words, and what a per-call predicate can and cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.tools import tool

from toolgate_langchain import RemoteServer, Surface, Tier, ToolProfile
from toolgate_langchain.catalog.catalog import ToolCatalog
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.remote import Declaration
from toolgate_langchain.policy.approval_rule import ApprovalRule, ask_predicate
from toolgate_langchain.policy.decide import ProposedCall
from toolgate_langchain.vocabulary import Verdict

CHAT = Surface("chat")
RULE = ApprovalRule()


@tool
def act(to: list[str]) -> str:
    """Act."""
    return f"acted for {to}"


def entry(profile: ToolProfile | None = None, **fields: Any) -> CatalogEntry:
    return CatalogEntry("act", profile or ToolProfile(**fields), tool=act)


def remote(declarations: Mapping[str, Declaration | bool] | None) -> CatalogEntry:
    catalog = ToolCatalog()
    catalog.add_remote(RemoteServer("srv", ("run",), declarations, profiles={"act": ToolProfile()}), [act])
    found = catalog.get("act")
    assert found is not None
    return found


def says_no(_: Mapping[str, Any]) -> bool:
    return False


def raises(_: Mapping[str, Any]) -> bool:
    raise LookupError("no such host")


@pytest.mark.parametrize(
    ("found", "needed", "reason"),
    [
        (None, True, "the tool is unknown"),
        (entry(requires_approval=True), True, "it is marked as requiring approval"),
        (entry(approval_when=says_no), True, "whether it needs approval depends on its arguments"),
        (remote({"act": True}), True, "its operator declared that it requires approval"),
        (remote({"act": False}), False, "its operator declared that it does not require approval"),
        (remote(None), True, "it is remote and undeclared, which surface 'chat' answers with 'ask'"),
        (entry(), True, "surface 'chat' answers 'ask' for unclassified tools"),
        (entry(tier=Tier.CONSEQUENTIAL), True, "surface 'chat' answers 'ask' for consequential tools"),
        (entry(tier=Tier.READ_ONLY), False, "surface 'chat' answers 'allow' for read_only tools"),
    ],
)
def test_the_line_that_applies_to_a_tool_as_such_is_named(
    found: CatalogEntry | None, needed: bool, reason: str
) -> None:
    need = RULE.need(found, CHAT)
    assert (need.needed, need.reason, need.typed_input) == (needed, reason, False)


def test_the_exemption_of_undeclared_remote_tools_is_named() -> None:
    need = ApprovalRule("exempt").need(remote(None), CHAT)
    assert (need.needed, need.reason) == (False, "it is remote and undeclared, which is exempt here")


def test_a_tool_declared_to_need_nobody_is_not_exempt_once_its_definition_has_changed() -> None:
    """After it changes it counts as undeclared, and is not exempt where undeclared tools are."""
    looked_at_before = remote({"act": Declaration(requires_approval=False, fingerprint="0" * 64)})
    need = ApprovalRule("exempt").need(looked_at_before, CHAT)
    assert (need.needed, need.reason) == (
        True, "it is remote and undeclared, which surface 'chat' answers with 'ask'",
    )  # fmt: skip


def test_a_predicate_that_raises_is_saved_as_having_asked_for_a_person() -> None:
    """And not as one that was never asked, which would be asked again."""
    assert ask_predicate(entry(approval_when=raises), {"to": []}) is True
    assert ask_predicate(entry(approval_when=says_no), {"to": []}) is False
    assert ask_predicate(entry(), {"to": []}) is None


def test_typed_input_needs_a_person_before_anything_else_is_asked() -> None:
    form = {"type": "object", "properties": {"to": {"type": "array"}}}
    need = RULE.need(entry(input_schema=form, requires_approval=True, tier=Tier.READ_ONLY), CHAT)
    assert (need.needed, need.typed_input, need.reason) == (True, True, "a person fills in its input")


def test_an_undeclared_remote_tool_is_answered_as_an_unclassified_one() -> None:
    for verdict in Verdict:
        surface = Surface("chat", consequential=Verdict.ALLOW, unclassified=verdict)
        assert RULE.need(remote(None), surface).needed is (verdict is not Verdict.ALLOW)


class TestThePredicate:
    def test_a_tool_with_a_predicate_is_not_free_of_it_whatever_one_call_was_told(self) -> None:
        """Where no arguments are given the tool itself is asked about."""
        assert RULE.need(entry(approval_when=says_no, tier=Tier.READ_ONLY), CHAT, None, False).needed

    def test_a_saved_outcome_stands_and_the_predicate_is_not_asked_again(self) -> None:
        found = entry(approval_when=raises, tier=Tier.READ_ONLY)
        assert not RULE.need(found, CHAT, {"to": []}, False).needed
        assert RULE.need(entry(approval_when=says_no, tier=Tier.READ_ONLY), CHAT, {"to": []}, True).needed

    def test_one_that_raises_has_an_outcome_which_is_yes(self) -> None:
        """An outcome to save: without one it would be asked again each time that the call is judged."""
        assert ask_predicate(entry(approval_when=raises), {"to": []}) is True
        assert ask_predicate(entry(approval_when=says_no), {"to": []}) is False

    def test_a_tool_without_one_has_no_outcome(self) -> None:
        assert ask_predicate(entry(), {"to": []}) is None

    def test_what_it_does_to_its_arguments_does_not_change_the_call(self) -> None:
        def writes(arguments: Mapping[str, Any]) -> bool:
            assert isinstance(arguments, dict)
            arguments["to"].append("eve")
            arguments["bcc"] = "eve"
            return False

        arguments = {"to": ["ann"]}
        assert not RULE.need(entry(approval_when=writes, tier=Tier.READ_ONLY), CHAT, arguments).needed
        assert arguments == {"to": ["ann"]}


class TestAToolWithoutASchema:
    """One that the model's provider runs: there is nothing to check its arguments against."""

    found = CatalogEntry("search", ToolProfile())

    def test_its_arguments_are_taken_as_written(self) -> None:
        proposed = ProposedCall.of("search", {"query": "toolgate"}, self.found)
        assert proposed.arguments is not None
        assert proposed.arguments.values == {"query": "toolgate"}

    @pytest.mark.parametrize("wrong", [None, ["query"], {"query": float("nan")}, {"query": 2**64}, {1: "query"}])
    def test_what_json_cannot_carry_exactly_does_not_fit(self, wrong: Any) -> None:
        proposed = ProposedCall.of("search", wrong, self.found)
        assert proposed.arguments is None
        assert proposed.fault
