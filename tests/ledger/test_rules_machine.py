"""Queue, ledger and rules under random words, answers, crashes and backups, on every kind of ledger."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    run_state_machine_as_test,
)  # fmt: skip

from tests.ledger.databases import Databases
from tests.ledger.people import People
from tests.ledger.stories import Stories
from tests.support import Clock
from toolgate_langchain import (
    InMemoryLedger,
)  # fmt: skip


def run(ledgers: Callable[[Clock], Callable[[], Any]], examples: int) -> None:
    """Drive some examples; `TOOLGATE_TIMES=20` drives twenty times as many, which takes minutes and finds more."""
    examples *= int(os.environ.get("TOOLGATE_TIMES", "1"))
    People.ledgers = staticmethod(ledgers)
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        Stories,
        settings=settings(
            max_examples=examples, stateful_step_count=12, deadline=None, derandomize=True, suppress_health_check=checks
        ),
    )


def in_memory(clock: Clock) -> Callable[[], Any]:
    shared = InMemoryLedger(clock=clock)
    return lambda: shared


def test_with_a_ledger_in_memory() -> None:
    run(in_memory, 10)


def test_with_a_ledger_in_a_database(databases: Databases) -> None:
    run(lambda clock: lambda: databases.ledger(clock=clock), 4 if databases.postgres is None else 3)


SETTLED: list[dict[str, Any]] = [
    {"number": 0, "thread": "one", "then": then, "again": again,
     "remember": {"what": what, "scope": scope, "expires_in": None}}
    for scope, again in (("user", "two"), ("user", "three"), ("thread", "one"), ("run", "one"))
    for what in ("arguments", "tool")
    for then in ("no here", "no there", "revoked", "revoked at the end", "nothing")
]  # fmt: skip
TRIED: list[dict[str, Any]] = [
    {"number": 0, "thread": "one", "order": [1, 2, 4], "kinds": kinds}
    for kinds in (["reject"] * 4, ["edit", "reject", "reject", "reject"], ["reject", "edit", "edit", "edit"])
]
TWICE: list[dict[str, Any]] = [
    {"number": 1, "kind": kind, "ends": ends}
    for kind in ("approve", "reject")
    for ends in ((None, 3600), (3600, None), (7200, 3600), (3600, 7200))
]


def test_every_story_that_seldom_comes_about_by_itself() -> None:
    """In an empty world each, with the same model beside it."""
    People.ledgers = staticmethod(in_memory)
    for around in (False, True):
        for told, stories in (
            (Stories.always_and_then, SETTLED),
            (Stories.no_and_no_again, TRIED),
            (Stories.twice_the_same_for_good, TWICE),
            (Stories.approved_and_left, [{"number": 0, "thread": "one"}]),
        ):
            for story in stories[around::2] if len(stories) > 1 else stories:
                people = Stories()
                people.begin(around=around)
                told(people, **story)
                people.nothing_ran_that_should_not_have()
                people.a_users_rules_are_what_people_said()
                people.every_call_has_its_one_tool_message_unless_it_waits()
