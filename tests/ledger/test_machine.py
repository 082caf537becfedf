"""A ledger in SQLite under random words, answers, starts and replays, beside the one in memory as its model."""

import tempfile
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.ledger.databases import Databases
from tests.support import Clock
from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, InMemoryLedger, SqlLedger, StandingRule, Tier
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import GrantStatus

REQUESTS = st.sampled_from(["a", "b", "c"])
RUNS = THREADS = st.sampled_from(["one", "two"])
DIGESTS = st.sampled_from(["d", "d", "d", "e"])
TOOLS = st.sampled_from(["send", "save"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\x00é", max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
ARGUMENTS = st.dictionaries(st.text("ab", max_size=2), VALUES, max_size=2)
ANSWERS = st.one_of(
    st.just(ApprovalAnswer(type="approve")),
    st.builds(ApprovalAnswer, type=st.just("reject"), message=st.none() | st.text("no \x00é", max_size=4)),
    st.builds(ApprovalAnswer, type=st.just("edit"), edited_arguments=ARGUMENTS),
)


class Twins(RuleBasedStateMachine):
    """Whatever is said to both, both say the same."""

    database: SqlLedger
    numbers = count()

    @initialize()
    def begin(self) -> None:
        """All examples share one file; each has names of its own in it."""
        self.prefix = f"{next(Twins.numbers)}-"
        self.model, self.clock = InMemoryLedger(), Clock()
        self.attempts: dict[str, CallStart] = {}
        Twins.database.resume()

    def name(self, name: str) -> str:
        return self.prefix + name

    def same(self, method: str, *args: Any, **kwargs: Any) -> None:
        theirs, ours = (getattr(ledger, method)(*args, **kwargs) for ledger in (self.model, Twins.database))
        if isinstance(theirs, list | tuple):
            theirs, ours = list(theirs), list(ours)
        assert ours == theirs, method

    @rule(key=REQUESTS, answer=ANSWERS, thread=st.none() | THREADS, timed=st.booleans())
    def answer(self, key: str, answer: ApprovalAnswer, thread: str | None, timed: bool) -> None:
        self.clock.forward(microseconds=1)
        where = None if thread is None else self.name(thread)
        self.same("answer", self.name(key), answer, thread_id=where, at=self.clock() if timed else None)

    @rule(key=REQUESTS, error=st.sampled_from(["", "not a yes"]), lasts=st.sampled_from([None, 1, 300_000]))
    def ask(self, key: str, error: str, lasts: int | None) -> None:
        self.clock.forward(microseconds=1)
        # Long over, or in eight hundred years.
        ends = None if lasts is None else self.clock() + timedelta(days=lasts)
        asked = request(request_id=self.name(key), error=error)
        self.same("ask", asked, thread_id=self.name("one"), at=self.clock(), expires_at=ends)

    @rule(key=REQUESTS, digest=DIGESTS)
    def grant(self, key: str, digest: str) -> None:
        self.same("grant", self.name(key), digest)

    @rule(key=REQUESTS, digest=DIGESTS, needs_grant=st.booleans(), repeatable=st.booleans())
    def start(self, key: str, digest: str, needs_grant: bool, repeatable: bool) -> None:
        call = CallStart(self.name(key), digest, needs_grant=needs_grant, repeatable=repeatable)
        self.attempts[key] = call
        self.same("start", call)

    @rule(key=REQUESTS, status=st.sampled_from([GrantStatus.FINISHED, GrantStatus.FAILED, GrantStatus.PAUSED]))
    def end(self, key: str, status: GrantStatus) -> None:
        """The last attempt ends, or one that never was."""
        call = self.attempts.get(key) or CallStart(self.name(key), "d", needs_grant=True, repeatable=False)
        self.same("end", call.ended(status))

    @rule(keys=st.lists(REQUESTS, max_size=3))
    def withdraw(self, keys: list[str]) -> None:
        self.same("withdraw", [self.name(key) for key in keys])

    @rule(key=REQUESTS, gives_back=st.booleans())
    def claim(self, key: str, gives_back: bool) -> None:
        self.same("release" if gives_back else "claim", self.name(key))

    @rule(run=RUNS, key=st.sampled_from(["k", "l"]), tool=TOOLS, request_id=REQUESTS)
    def note_rejected(self, run: str, key: str, tool: str, request_id: str) -> None:
        self.same("note_rejected", self.name(run), key, tool, self.name(request_id))

    @rule(run=RUNS, key=st.sampled_from(["k", "l"]))
    def note_replaced(self, run: str, key: str) -> None:
        self.same("note_replaced", self.name(run), key)

    @rule(run=RUNS, turn=st.sampled_from(["t", "u", "v"]))
    def note_auto_approved(self, run: str, turn: str) -> None:
        self.same("note_auto_approved", self.name(run), turn)

    @rule(run=RUNS, key=REQUESTS)
    def note_person(self, run: str, key: str) -> None:
        self.same("note_person", self.name(run), self.name(key))

    @rule(run=RUNS, tool=TOOLS, change=st.text("abé", max_size=3))
    def note_change(self, run: str, tool: str, change: str) -> None:
        self.same("note_change", self.name(run), tool, change)

    @rule(
        thread=THREADS,
        drops=st.booleans(),
        arguments=st.sampled_from([None, {}, {"n": 1}, {"n": 1.0}]),
        effect=st.sampled_from(["allow", "deny"]),
        made_by=st.none() | REQUESTS,
        tier=st.sampled_from([None, Tier.ROUTINE]),
    )
    def keep_or_drop_a_rule(
        self, thread: str, drops: bool, arguments: Any, effect: Any, made_by: str | None, tier: Tier | None
    ) -> None:
        made = StandingRule(
            tool_name="send",
            arguments=arguments,
            effect=effect,
            tier=tier,
            fingerprint="f",
            surface="chat",
            request_id=None if made_by is None else self.name(made_by),
            created_at=self.clock(),
        )
        if drops:
            self.same("drop_thread_rules", self.name(thread), [made])
        else:
            self.same("add_thread_rule", self.name(thread), made)

    @rule(stop=st.booleans())
    def throw_the_switch(self, stop: bool) -> None:
        self.same("stop" if stop else "resume")

    @invariant()
    def both_say_the_same(self) -> None:
        if not hasattr(self, "prefix"):
            return
        self.same("stopped")
        for key in ("a", "b", "c"):
            for method in ("status", "answer_to", "answered_at", "thread_of"):
                self.same(method, self.name(key))
        for name in ("one", "two"):
            for method in ("memory", "taken_back", "thread_rules"):
                self.same(method, self.name(name))
            self.same("change", self.name(name), "send")
        ours: Any = Twins.database.pending(limit=10_000)
        assert [one for one in ours if one.request.request_id.startswith(self.prefix)] == self.model.pending()


@pytest.fixture(scope="module")
def database() -> Iterator[SqlLedger]:
    with tempfile.TemporaryDirectory() as folder, Databases(Path(folder), None) as made:
        yield made.ledger()


def test_a_ledger_in_a_database_says_what_the_one_in_memory_says(database: SqlLedger) -> None:
    Twins.database = database
    run_state_machine_as_test(
        Twins,
        settings=settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
