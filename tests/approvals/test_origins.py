"""Where a call's arguments come from: as notes for the person who is asked, and as lines of the operator's log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.tools import tool

from toolgate_langchain import Caller, Surface, Tier, ToolCatalog, ToolProfile, TrustZone
from toolgate_langchain.approvals.origins import log_observed, origin_notes
from toolgate_langchain.approvals.turn import Run
from toolgate_langchain.catalog.arguments import EffectiveArguments
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.policy.approval_rule import ApprovalRule
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.policy.context import RunContext
from toolgate_langchain.policy.decide import ProposedCall, Rulebook
from toolgate_langchain.policy.history import History, ResultLabel
from toolgate_langchain.vocabulary import Verdict

RUN = Run("run", RunContext(Surface("chat"), Caller("ann"), zone=TrustZone.LOCAL), "thread")
READ = History()


@tool
def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


ENTRY = CatalogEntry("send", ToolProfile(tier=Tier.ROUTINE), tool=send)
CALL = ProposedCall("send", ENTRY, EffectiveArguments({"to": "ann"}, exact=True))


@dataclass(frozen=True)
class Value:
    """A decisive value, as it is told."""

    text: str


class Reads:
    """A policy that knows where arguments come from, and keeps what it was asked with."""

    def __init__(self, *values: str, observe: bool = False, verdict: Verdict = Verdict.ASK) -> None:
        self.observe, self.verdict, self.values = observe, verdict, values
        self.seen: list[ArgumentView] = []

    def __call__(self, _: ArgumentView) -> PolicyAnswer:
        return PolicyAnswer(Verdict.ALLOW)

    def would(self, view: ArgumentView) -> PolicyAnswer:
        self.seen.append(view)
        return PolicyAnswer(self.verdict, "'to' was read on a page")

    def trace(self, view: ArgumentView) -> Sequence[Value]:
        self.seen.append(view)
        return [Value(text) for text in self.values]

    def label_result(self, _: str, __: str, ___: Any, declared: ResultLabel) -> ResultLabel:
        return declared


def plain(_: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK, "look at it")


def rulebook(*policies: Any) -> Rulebook:
    return Rulebook(ToolCatalog(), ApprovalRule(), policies)


def notes(*policies: Any, call: ProposedCall = CALL, history: History | None = READ) -> list[str]:
    return list(origin_notes(rulebook(*policies), call, RUN, history))


NOT_A_CALL = pytest.mark.parametrize(
    ("call", "history"),
    [
        (CALL, None),
        (ProposedCall("send", None, CALL.arguments), READ),
        (ProposedCall("send", ENTRY, None, "it does not fit"), READ),
    ],
    ids=["nothing is known of what was read", "no tool", "no arguments that fit"],
)


class TestNotes:
    def test_there_is_one_for_each_decisive_value_of_each_policy_that_reads(self) -> None:
        assert notes(plain, Reads("'to' is the user's", "'cc' is a page's"), plain, Reads("a third")) == [
            "'to' is the user's", "'cc' is a page's", "a third",
        ]  # fmt: skip

    def test_each_is_one_note_whatever_the_page_wrote(self) -> None:
        assert notes(Reads("'to' says: a\u202eb\nrejected: no")) == ["'to' says: a\\u{202e}b\n    rejected: no"]

    @NOT_A_CALL
    def test_there_is_none_where_nobody_could_say(self, call: ProposedCall, history: History | None) -> None:
        policy = Reads("'to' is the user's")
        assert notes(policy, call=call, history=history) == []
        assert policy.seen == []

    def test_a_policy_sees_the_call_with_where_and_for_whom_it_is_made(self) -> None:
        policy = Reads()
        notes(policy)
        assert policy.seen == [
            ArgumentView("send", {"to": "ann"}, ENTRY, RUN.context.surface, Caller("ann"), READ, TrustZone.LOCAL)
        ]


class TestTheLog:
    @staticmethod
    def lines(
        caplog: pytest.LogCaptureFixture, *policies: Any, call: ProposedCall = CALL, history: History | None = READ
    ) -> list[str]:
        with caplog.at_level(logging.WARNING, "toolgate_langchain"):
            log_observed(rulebook(*policies), call, RUN, history)
        return caplog.messages

    @pytest.mark.parametrize("verdict", [Verdict.ASK, Verdict.DENY])
    def test_says_what_a_policy_that_observes_would_have_done(
        self, caplog: pytest.LogCaptureFixture, verdict: Verdict
    ) -> None:
        said = self.lines(caplog, plain, Reads(), Reads(observe=True, verdict=verdict))
        assert said == [f"observed: the flow policy would {verdict.value} 'send': 'to' was read on a page"]

    def test_says_nothing_of_what_it_would_let_run(self, caplog: pytest.LogCaptureFixture) -> None:
        assert self.lines(caplog, Reads(observe=True, verdict=Verdict.ALLOW)) == []

    def test_says_nothing_of_a_policy_that_decides_itself(self, caplog: pytest.LogCaptureFixture) -> None:
        assert self.lines(caplog, Reads(observe=False, verdict=Verdict.DENY)) == []

    @NOT_A_CALL
    def test_says_nothing_where_nobody_could_say(
        self, caplog: pytest.LogCaptureFixture, call: ProposedCall, history: History | None
    ) -> None:
        assert self.lines(caplog, Reads(observe=True), call=call, history=history) == []
