"""What a person is asked about a call of which nobody knows whether it ran."""

from __future__ import annotations

import pytest
from langchain_core.tools import tool

from toolgate_langchain import Caller, Surface, Tier, ToolProfile
from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.approvals.turn import Run
from toolgate_langchain.approvals.unknown import outcome_id, outcome_request
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.policy.context import RunContext

RUN = Run("run", RunContext(Surface("chat"), Caller("ann")), "thread", agent_path=("helper",))


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def asked(tries: int = 1, tier: Tier | None = Tier.CONSEQUENTIAL) -> ApprovalRequest:
    entry = CatalogEntry("pay", ToolProfile(tier=tier), tool=pay)
    return outcome_request("key", tries, "bound", RUN, entry, "c1", {"amount": 5})


def test_it_is_the_only_question_and_shows_the_very_call_where_and_for_whom_it_was_made() -> None:
    request = asked()
    assert (request.kind, request.position, request.of) == ("outcome", 1, 1)
    assert (request.tool_name, request.arguments, request.tool_call_id) == ("pay", {"amount": 5}, "c1")
    assert (request.origin, request.digest) == ("local", "bound")
    assert (request.surface, request.caller, request.agent_path) == ("chat", "ann", ("helper",))


@pytest.mark.parametrize(("tries", "times"), [(1, "once"), (2, "2 times"), (3, "3 times")])
def test_it_says_how_often_the_call_was_started(tries: int, times: str) -> None:
    assert asked(tries).reason.startswith(f"it was started {times} and no result was recorded")


def test_it_names_the_tier_also_of_a_tool_that_has_none() -> None:
    assert (asked().tier, asked(tier=None).tier) == ("consequential", "unclassified")


def test_it_can_be_answered_with_an_outcome_or_a_plain_no_and_remembers_nothing() -> None:
    assert asked().allowed == ("try_again", "done", "failed", "reject")
    assert asked().remember == ()


def test_its_id_is_the_same_in_every_replay_and_another_after_each_further_try() -> None:
    assert asked(1).request_id == asked(1).request_id == outcome_id("key", 1)
    assert len({outcome_id("key", 1), outcome_id("key", 2), outcome_id("other", 1)}) == 3
    assert len(outcome_id("key", 1)) == 32
