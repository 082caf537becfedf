"""Many threads under several workers at once, and what the record says of it afterwards.

`python -m benchmarks soak --workers 4 --threads 2000`: on SQLite and on PostgreSQL. It fails where the record does not
replay to the same decisions, where a deed was done that the record does not have or twice, and where a call dangles.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.behaviours.processes import run_child
from tests.ledger.databases import Databases, start_postgres
from tests.ledger.soaking import ONCE, OPERATIONS, checkpoints
from toolgate_langchain import export_record, replay_record
from toolgate_langchain.approvals.recording.lines import read_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain import SqlLedger

__all__ = ["Soaked", "main", "soak"]

_ROOT = Path(__file__).parents[1]
_CHILD = _ROOT / "tests" / "ledger" / "children" / "soaking.py"

Run: TypeAlias = Callable[[Path, dict[str, Any]], dict[str, Any]]


@dataclass
class Soaked:
    """What came of a soak."""

    did: Counter[str] = field(default_factory=Counter)
    """What the workers did, and how often."""
    lines: int = 0
    decisions: int = 0
    """Decisions of the record that were asked for again."""
    deeds: int = 0
    wrong: list[str] = field(default_factory=list)
    """What must not be, in words."""


def soak(
    databases: Databases, folder: Path, *, workers: int, threads: int, seed: int = 0, run: Run = run_child
) -> Soaked:
    """Let workers loose on the threads of one ledger, bring all to their end, and look at what is left.

    Args:
        databases: Makes the ledger's database, and one for checkpoints.
        folder: An empty folder.
        workers: Processes.
        threads: Threads that they share.
        seed: What they do follows from it; when, does not.
        run: Runs the script of a worker in a process of its own.
    """
    postgres = databases.postgres
    given: dict[str, Any] = {
        # However long the line at a file is: what times out is an error of its own, and not what is tried here.
        "ledger": databases.url.replace("timeout=0.2", "timeout=60"),
        "checkpoints": str(folder / "checkpoints.db") if postgres is None else databases.another(),
        "deeds": str(folder / "deeds"),
        "threads": threads,
        "operations": threads * OPERATIONS // workers,
    }
    ledger = databases.ledger(given["ledger"])
    ledger.prepare()
    with checkpoints(given["checkpoints"]) as checkpointer:
        checkpointer.setup()
    done = Soaked()
    for one in _at_once(run, [{**given, "seed": f"{seed}:{worker}"} for worker in range(workers)]):
        done.did.update(one["did"])
    shares = [list(range(worker, threads, workers)) for worker in range(workers)]
    ends = [{**given, "seed": f"{seed}:end:{place}", "share": share} for place, share in enumerate(shares)]
    for one in _at_once(run, ends):
        done.wrong += one["dangling"]
    _look(ledger, Path(given["deeds"]), done)
    return done


def _at_once(run: Run, given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(len(given)) as pool:
        return list(pool.map(partial(run, _CHILD), given))


def _for_long(script: Path, given: dict[str, Any]) -> dict[str, Any]:
    """As `run_child`, for as long as it takes."""
    command = [sys.executable, "-W", "error", str(script)]
    root = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, input=json.dumps(given), stdout=subprocess.PIPE, text=True, env=root, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _look(ledger: SqlLedger, deeds: Path, done: Soaked) -> None:
    """Hold the record against itself, and against what was done."""
    replayed = replay_record(export_record(ledger))
    done.lines, done.decisions = replayed.lines, replayed.decisions
    done.wrong += [f"line {one.line}: {one.recorded}, today {one.today}" for one in replayed.differences]
    allowed: Counter[str] = Counter()
    starts: Counter[str] = Counter()
    again: set[str] = set()
    for _, line in read_record(export_record(ledger)):
        if line["kind"] == "start_started":
            starts[line["request"]] += 1
        if line["kind"] == "judged" and line["detail"]["call"]["tool"] not in ONCE:
            again.add(line["request"])  # two workers may be at a call that may be repeated
        if line["kind"] == "decided" and line["detail"]["decision"]["verdict"] == "allow":
            call = line["detail"]["call"]
            allowed[f"{call['tool']} {line['thread']} {call['id']}"] += 1
    done.wrong += [
        f"{request} started {number} times" for request, number in starts.items() if number > 1 and request not in again
    ]
    did = Counter(deeds.read_text().splitlines())
    done.deeds = did.total()
    for deed, number in did.items():
        name = deed.partition(" ")[0]
        if name in ONCE and number > allowed[deed]:
            done.wrong.append(f"{deed}: done {number} times, allowed {allowed[deed]} times")
        elif name != "read" and not allowed[deed]:
            done.wrong.append(f"{deed}: done, and not in the record")
    # Nothing died here, so that what was let through was done.
    done.wrong += [f"{deed}: allowed, and never done" for deed in allowed if not did[deed]]


def main(arguments: Sequence[str]) -> None:
    """Run the soak on both databases and say what came of it.

    Args:
        arguments: The command line behind `soak`.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--on", choices=["sqlite", "postgresql"], action="append", help="one database only")
    given = parser.parse_args(arguments)
    failed = False
    with tempfile.TemporaryDirectory() as name:
        server_files = Path(name) / "postgres"
        server_files.mkdir(mode=0o755)
        with start_postgres(server_files) as server:
            for kind in given.on or ["sqlite", "postgresql"]:
                folder = Path(name) / kind
                folder.mkdir()
                before = time.perf_counter()
                with Databases(folder, server if kind == "postgresql" else None) as databases:
                    options = {"workers": given.workers, "threads": given.threads, "seed": given.seed, "run": _for_long}
                    done = soak(databases, folder, **options)
                took = time.perf_counter() - before
                failed = failed or bool(done.wrong)
                print(f"{kind}: {given.workers} workers, {given.threads:,} threads, {took:,.0f} s")
                print(f"  {dict(sorted(done.did.items()))}")
                print(f"  {done.deeds:,} deeds; {done.lines:,} lines; {done.decisions:,} decisions asked for again")
                print(f"  wrong: {len(done.wrong)}", *done.wrong[:20], sep="\n    ")
    sys.exit(failed)
