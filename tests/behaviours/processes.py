"""Steps that are taken in processes of their own, and a conversation of which every step is one."""

import contextlib
import io
import json
import multiprocessing
import runpy
import subprocess
import sys
import traceback
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_CHILD = Path(__file__).parent / "children" / "conversation.py"
_ROOT = Path(__file__).parents[2]

Step = dict[str, Any]

# Each child is forked from a server that has loaded what all of them load, and nothing else: it shares no
# object with the test or with another child, and does not take a second to begin.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        "langchain.agents",
        "langgraph.checkpoint.memory",
        "langgraph.checkpoint.sqlite.aio",
        "sqlalchemy",
        "toolgate_langchain.approvals.sql",
        "toolgate_langchain.hosts.agent",
        "toolgate_langchain.hosts.driving",
        "toolgate_langchain.hosts.middleware",
    ]
)
_TIMEOUT = 120
"""Seconds after which a child counts as hanging."""


def run_child(script: Path, given: dict[str, Any]) -> Step:
    """Run a script of `children/` in a process of its own, which fails on any warning.

    Args:
        script: The script; it reads JSON and writes JSON.
        given: What it reads.
    """
    ours, theirs = _PROCESSES.Pipe(duplex=False)
    child = _PROCESSES.Process(target=_run, args=(str(script), json.dumps(given), theirs))
    child.start()
    theirs.close()
    try:
        assert ours.poll(_TIMEOUT), f"{script.name} hangs"
        said, failed = ours.recv()
    except EOFError:
        said, failed = "", f"{script.name} ended without a word"
    finally:
        ours.close()
        child.join(_TIMEOUT)
        child.close()
    assert not failed, failed
    step: Step = json.loads(said)
    return step


def _run(script: str, given: str, to: Connection) -> None:
    """The whole life of a child."""
    warnings.simplefilter("error")
    sys.path.insert(0, str(_ROOT))
    sys.stdin = io.StringIO(given)
    said, failed = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(script, run_name="__main__")
    except BaseException:
        failed = traceback.format_exc()
    to.send((said.getvalue(), failed))
    to.close()


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
        cwd=_ROOT,
        env={"PYTHONPATH": str(_ROOT), "PATH": "/usr/bin:/bin"},
        timeout=_TIMEOUT,
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
