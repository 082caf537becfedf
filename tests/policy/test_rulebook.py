"""What a decision starts from, and what it leaves behind: the policies by what they need, resolved calls, call keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.tools import tool

from toolgate_langchain import Surface, Tier, ToolCatalog, ToolProfile
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.policy.approval_rule import ApprovalRule
from toolgate_langchain.policy.arguments import ArgumentPolicy, ArgumentView, PolicyAnswer
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RunContext, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, call_key, decide
from toolgate_langchain.vocabulary import Verdict


@tool("open")
def open_path(path: str) -> str:
    """Open it."""
    return path


ENTRY = CatalogEntry("open", ToolProfile(tier=Tier.READ_ONLY), tool=open_path)


class Says:
    """An argument policy that always says the same."""

    def __init__(self, verdict: Verdict, *, needs_history: Any = False) -> None:
        self.verdict, self.needs_history = verdict, needs_history

    def __call__(self, _: ArgumentView) -> PolicyAnswer:
        return PolicyAnswer(self.verdict, f"it says {self.verdict.value}")


class Follows(Says):
    """One that follows a link as well."""

    def resolve_arguments(self, _: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"path": arguments["path"].replace("link", "real")}


def rulebook(*policies: ArgumentPolicy) -> Rulebook:
    catalog = ToolCatalog()
    catalog.register(open_path, ENTRY.profile)
    return Rulebook(catalog, ApprovalRule(), policies)


def test_the_policies_that_resolve_are_those_that_can_in_their_order() -> None:
    one, other, neither = Follows(Verdict.ALLOW), Follows(Verdict.ASK), Says(Verdict.ALLOW)
    assert rulebook(one, neither, other).resolving == (one, other)
    assert rulebook(neither).resolving == rulebook().resolving == ()


def test_a_history_is_needed_where_one_policy_says_so_with_a_real_true() -> None:
    quiet, reader = Says(Verdict.ALLOW), Says(Verdict.ALLOW, needs_history=True)
    assert rulebook(quiet, reader).needs_history is True
    assert rulebook(quiet).needs_history is False
    assert rulebook(Says(Verdict.ALLOW, needs_history="yes")).needs_history is False
    assert rulebook(lambda _: PolicyAnswer(Verdict.ALLOW, "a function has no opinion of it")).needs_history is False


def test_a_proposed_call_names_what_its_arguments_resolve_to() -> None:
    call = ProposedCall.of("open", {"path": "link"}, ENTRY, (Follows(Verdict.ALLOW),))
    assert call.arguments is not None and call.arguments.values == {"path": "real"}
    plain = ProposedCall.of("open", {"path": "link"}, ENTRY)
    assert plain.arguments is not None and plain.arguments.values == {"path": "link"}


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ([Verdict.ALLOW, Verdict.ASK, Verdict.ALLOW], [Verdict.ALLOW, Verdict.ASK, Verdict.ALLOW]),
        ([Verdict.ASK, Verdict.DENY, Verdict.ALLOW], [Verdict.ASK, Verdict.DENY]),
    ],
)
def test_what_each_policy_said_that_was_asked_is_heard(said: list[Verdict], heard: list[Verdict]) -> None:
    book, answers = rulebook(*map(Says, said)), list[PolicyAnswer]()
    call = ProposedCall.of("open", {"path": "a"}, book.catalog.get("open"))
    decide(call, RunContext(Surface("chat")), book, NO_RULES, RunMemory(), CallFacts(), answers)
    assert [answer.verdict for answer in answers] == heard


def test_the_key_of_this_very_call_stays_what_ledgers_already_hold() -> None:
    """A rejection is kept under it, and must still be found by the next version."""
    written = '["toolgate:call:1","open","local",{"path":"a"}]'
    assert call_key(ENTRY, {"path": "a"}) == hashlib.sha256(written.encode()).hexdigest()


def test_another_tool_another_origin_and_other_arguments_have_another_key() -> None:
    theirs = SimpleNamespace(name="open", origin="server:srv")
    keys = {call_key(ENTRY, {"path": "a"}), call_key(ENTRY, {"path": "b"}), call_key(theirs, {"path": "a"})}
    assert len(keys) == 3
