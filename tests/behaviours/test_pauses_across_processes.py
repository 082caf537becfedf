"""Pause in one process, resume in another: the same result as in one.

Every step is a real process of its own that builds the agent anew on one SQLite file. The agents' tools carry their
profiles themselves, so that the resuming process has met none of them when it must go on asking.
"""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.behaviours.processes import run_child

_CHILD = Path(__file__).parent / "children" / "pausing.py"

Call = tuple[str, str, dict[str, Any]]

SCRIPT: list[list[Call]] = [
    [("a", "save", {"number": "1"}), ("l", "look", {}), ("b", "save", {"number": 2}), ("c", "save", {"number": 3})],
    [("d", "save", {"number": 3}), ("e", "save", {"number": 4})],
    [("f", "travel", {"city": "guess", "note": "keep"})],
]
APPROVE: dict[str, Any] = {"type": "approve"}
STEPS: list[dict[str, Any]] = [
    {"say": "go"},
    {**APPROVE, "remember": "arguments"},
    {"type": "edit", "edited_action": {"name": "save", "args": {"number": "many"}}},
    {"type": "edit", "edited_action": {"name": "save", "args": {"number": 20}}, "through": "resume"},
    {"type": "reject", "message": "not three"},
    APPROVE,
    {**APPROVE, "input": {"town": "Berlin"}},
    {**APPROVE, "input": {"city": "Berlin", "evil": "x"}},
]


def process(database: Path, asynchronous: bool, steps: list[dict[str, Any]], known: dict[str, str]) -> dict[str, Any]:
    """Take some steps in a new process."""
    given = {
        "database": str(database),
        "asynchronous": asynchronous,
        "script": SCRIPT,
        "steps": steps,
        "known": known,
    }
    return run_child(_CHILD, given)


def conversation(database: Path, asynchronous: bool, parts: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Take all steps, each part in a process of its own."""
    whole: dict[str, Any] = {"stood": [], "ran": [], "known": {}}
    for part in deepcopy(parts):
        said = process(database, asynchronous, part, whole["known"])
        whole["stood"] += said["stood"]
        # Calls of one turn run in threads, in any order.
        whole["ran"] += sorted(said["ran"], key=json.dumps)
        whole["known"] = said["known"]
    del whole["known"]
    return whole


@pytest.fixture(scope="module")
def in_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All of it in one process."""
    return conversation(tmp_path_factory.mktemp("one") / "one.db", False, [STEPS])


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_pause_in_one_process_resume_in_another_same_result_as_in_one(
    tmp_path: Path, in_one: dict[str, Any], asynchronous: bool
) -> None:
    in_many = conversation(tmp_path / "many.db", asynchronous, [STEPS[:1], STEPS[1:3], STEPS[3:6], STEPS[6:]])
    assert without_words(in_many)["stood"] == without_words(in_one)["stood"]
    assert sorted(in_many["ran"], key=json.dumps) == in_one["ran"]
    assert in_many["ran"] == [
        ["look", {}],
        ["save", {"number": 1, "note": "none"}],
        ["save", {"number": 20, "note": "none"}],
        ["save", {"number": 4, "note": "none"}],
        ["travel", {"city": "Berlin", "note": "keep"}],
    ]


def without_words(said: dict[str, Any]) -> dict[str, Any]:
    """Only whether an answer was wrong: the words differ where another validator found it."""
    said = deepcopy(said)
    for request in [request for stood in said["stood"] for request in stood["pending"]]:
        request["error"] = bool(request["error"])
    return said


def test_an_approval_taken_back_in_another_process_stays_taken_back(tmp_path: Path) -> None:
    taken_back = {"type": "reject", "to": "a", "message": "on second thoughts", "through": "resume"}
    said = conversation(tmp_path / "many.db", False, [[{"say": "go"}, APPROVE], [taken_back], [APPROVE, APPROVE]])
    assert "was taken back" in said["stood"][2]["pending"][0]["error"]
    assert said["ran"] == [
        ["look", {}],
        ["save", {"number": 2, "note": "none"}],
        ["save", {"number": 3, "note": "none"}],
    ]
    assert "on second thoughts" in dict(said["stood"][4]["results"])["a"]
