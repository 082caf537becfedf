"""Steps that are taken in processes of their own, and a conversation of which every step is one."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forked import PATIENCE, PIPE, ROOT, Forked

_CHILD = Path(__file__).parent / "children" / "conversation.py"

Step = dict[str, Any]


def run_child(script: Path, given: dict[str, Any]) -> Step:
    """Run a script of `children/` in a process of its own, which fails on any warning.

    Args:
        script: The script; it reads JSON and writes JSON.
        given: What it reads.
    """
    code, (said, failed) = Forked(script, stdin=PIPE).ended(json.dumps(given))
    assert code == 0, failed
    step: Step = json.loads(said)
    return step


def run_bare_child(script: Path, given: dict[str, Any]) -> Step:
    """As `run_child`, in a process that has loaded nothing before.

    Args:
        script: The script; it reads JSON and writes JSON.
        given: What it reads.
    """
    child = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        timeout=PATIENCE,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    said: Step = json.loads(child.stdout)
    return said


@dataclass
class Processes:
    """Takes each step of a conversation in a new process, in turn synchronously and asynchronously."""

    database: Path
    asynchronous: bool
    """Whether the next step is taken with `ainvoke`."""
    heuristic: bool = False

    def step(self, *turns: list[tuple[str, dict[str, Any], str]], answer: Any = None, thread: str = "thread") -> Step:
        """Say something, or answer what is pending; the model then makes `turns` and ends.

        Returns:
            `request` (what is pending, or `None`), `ran` (the tools that ran in this process) and
            `heard` (what its heuristic was asked about).
        """
        given = {
            "database": str(self.database),
            "asynchronous": self.asynchronous,
            "heuristic": self.heuristic,
            "thread": thread,
            "script": turns,
            "answer": answer,
        }
        self.asynchronous = not self.asynchronous
        return run_child(_CHILD, given)
