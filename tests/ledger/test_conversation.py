"""A conversation that pauses in one process and is answered and finished in others: a yes is used exactly once.

Every step is a real process of its own; they share a file of checkpoints and the ledger's database.
"""

import json
from pathlib import Path
from typing import Any

from tests.forked import Forked
from tests.ledger.databases import Databases
from tests.ledger.test_processes import child, said


class Steps:
    """Takes the steps of a conversation."""

    def __init__(self, folder: Path, databases: Databases) -> None:
        self._given = {
            "checkpoints": str(folder / "checkpoints.db"),
            "ledger": databases.url.replace("timeout=0.2", "timeout=30"),
        }

    def begin(self, do: str, *, asynchronous: bool, **more: Any) -> Forked:
        """Begin a step in a process of its own."""
        process = child("conversing.py")
        _tell(process, json.dumps({**self._given, "do": do, "asynchronous": asynchronous, **more}))
        return process


def _tell(process: Forked, line: str) -> None:
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def test_a_yes_is_used_exactly_once_by_whichever_process(sqlite: Databases, tmp_path: Path) -> None:
    """It pauses in one process, two others answer it at once, and a fourth goes back to before the call ran."""
    steps = Steps(tmp_path, sqlite)
    paused = said(steps.begin("say", asynchronous=False))
    assert paused["ran"] == []
    (request_id,) = paused["pending"]
    yes = {"type": "approve", "request_id": request_id}
    both = [steps.begin("answer", asynchronous=way, answer=yes) for way in (False, True)]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        _tell(process, "go")
    got = [said(process) for process in both]
    assert sorted(one["status"] for one in got) == ["accepted", "already_answered"]
    assert sorted(name for one in got for name in one["ran"]) == ["read", "send"]
    (accepted,) = [one for one in got if one["status"] == "accepted"]
    assert dict(accepted["results"]) == {"a": "ran send", "b": "ran read"}
    assert accepted["pending"] == []
    restored = said(steps.begin("replay", asynchronous=True))
    assert restored["ran"] == ["read"]
    assert "unknown" in dict(restored["results"])["a"]
