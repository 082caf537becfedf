"""Several processes on one database: of all who want the same one gets it, and who dies leaves nothing half done."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forked import PIPE, Forked
from tests.ledger.databases import Databases

_CHILDREN = Path(__file__).parent / "children"


@pytest.fixture
def ready() -> bool:
    """No database is a ledger before."""
    return False


def child(script: str, *arguments: str) -> Forked:
    """A process of its own, which fails on any warning."""
    return Forked(_CHILDREN / script, *arguments, stdin=PIPE, stdout=PIPE)


def said(process: Forked) -> Any:
    """What a process said in the end."""
    code, (out, error) = process.ended()
    assert code == 0, error
    return json.loads(out)


def test_of_processes_that_race_for_one_grant_one_wins(databases: Databases) -> None:
    """They begin together on an empty database, whose tables both would make."""
    rounds = 25
    processes = [child("racing.py", databases.url.replace("timeout=0.2", "timeout=30"), str(rounds)) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    got = [said(process) for process in processes]
    for number in range(rounds):
        answered, claimed, started, first = (sorted(mine[number][of] for mine in got) for of in range(4))
        assert answered == ["already_answered", "recorded"]
        assert claimed == [False, True]
        assert started == ["started", "used"]
        assert first == ["started", "used"]


def test_a_crash_in_the_middle_of_a_transaction_leaves_nothing_half_done(databases: Databases) -> None:
    """A process is killed before every single statement of each kind of work, and before the commit."""
    fates = said(child("crashing.py", databases.url))
    assert {name: len(left) > 3 for name, left in fates.items()} == dict.fromkeys(fates, True)
    for name, left in fates.items():
        for fate in left[:-1]:
            assert not fate["whole"] and fate["after"] == fate["before"], f"{name} left something half done"
        assert left[-1]["whole"] and left[-1]["after"] != left[-1]["before"]
    status, answer, rules, taken_back, *_ = fates["answer"][-1]["after"]
    assert (status, answer, rules, taken_back) == ("withdrawn", "reject", 0, 1)
