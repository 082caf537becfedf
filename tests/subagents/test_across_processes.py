"""Agents two deep that pause in one process and go on in another, on one SQLite file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviours.processes import run_child

_CHILD = Path(__file__).parent / "children" / "nested.py"
INSIDE = ["plan", "planner", "clean", "cleaner"]


def step(database: Path, answer: Any = None, *, asynchronous: bool, **more: Any) -> dict[str, Any]:
    """One step in a process of its own; the agents' settings are those of `more`."""
    given = {"database": str(database), "answer": answer, "asynchronous": asynchronous, "bare": False}
    return run_child(_CHILD, {"child": {}, "tools": None, **given, **more})


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("bare", [False, True], ids=["through the gate", "by a bare command"])
def test_each_answer_is_given_in_another_process(tmp_path: Path, asynchronous: bool, bare: bool) -> None:
    database = tmp_path / "state.db"
    said = step(database, asynchronous=asynchronous)
    asked, ran = [], []
    for kind in ["approve", "approve", "reject"]:
        ((request_id, call_id, path, surface),) = said["pending"]
        asked.append((call_id, path, surface))
        asynchronous = not asynchronous
        answer = {"type": kind, "request_id": request_id}
        said = step(database, answer, asynchronous=asynchronous, bare=bare)
        ran += said["ran"]
    assert asked == [("p", [], "chat"), ("first", INSIDE, "chat"), ("second", INSIDE, "chat")]
    assert ran == [1]
    assert said["pending"] == []
    assert "ran rm" in said["results"]["p"]
    assert "rejected" in said["results"]["p"]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_child_that_was_given_more_meanwhile_has_at_most_what_its_parent_has(
    tmp_path: Path, asynchronous: bool
) -> None:
    """The saved run of the child holds, and so does its parent's run, which is there again when it goes on."""
    database = tmp_path / "state.db"
    said = step(database, asynchronous=asynchronous)
    said = step(database, _approve(said), asynchronous=asynchronous)
    assert said["pending"][0][1] == "first"
    said = step(database, _approve(said), asynchronous=asynchronous, child={"surface": "open"})
    assert [pending[1] for pending in said["pending"]] == ["second"]
    said = step(database, _approve(said), asynchronous=asynchronous, tools=["plan"])
    assert said["pending"] == []
    assert said["ran"] == []
    assert "not executed" in said["results"]["p"]


def _approve(said: dict[str, Any]) -> dict[str, str]:
    return {"type": "approve", "request_id": said["pending"][0][0]}
