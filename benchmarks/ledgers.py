"""What a ledger in a database adds to a call, next to the one in memory, and what a million events cost it.

A call is timed without its agent: what the gate says to its ledger from the turn to the result, overheard in a real
conversation, in the same order. A released call is one that may not be repeated and that nobody was asked about. A call
that is only read writes nothing; what it reads is timed beside them. The ledger in memory keeps no record, the others
do.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, text

from benchmarks.measure import compare, compare_async
from benchmarks.said_to_ledgers import overheard
from benchmarks.table import Row
from tests.ledger.databases import Databases, start_postgres
from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, InMemoryLedger, SqlLedger
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.approvals.recording.entries import Entry
from toolgate_langchain.approvals.sql.tables import ANSWERS, EVENTS, GRANTS, REQUESTS
from toolgate_langchain.approvals.steps import arun_steps, run_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.steps import Steps

__all__ = ["measure_ledgers"]

EVENTS_BEFORE = 1_000_000
"""Events of the ledger that is held against an empty one."""

AS_FAST_AS_EMPTY = 1.3
"""The bound of that comparison."""

CALLS = 20
"""Calls of one timed round."""

PENDING = 20
"""Requests that wait while they are listed."""

MEMORY = "in memory"
YES = ApprovalAnswer(type="approve", by="ann")
NOW = datetime(2026, 1, 2, tzinfo=UTC)

_keys = count()


@contextmanager
def _ledgers() -> Iterator[dict[str, tuple[Databases | None, Any]]]:
    """A ledger of each kind, with what makes further databases of that kind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server_files = folder / "postgres"
        server_files.mkdir(mode=0o755)
        # As a server runs in earnest: what is committed is on the disk.
        with start_postgres(server_files, safe=True) as server:
            sqlite, postgres = Databases(folder, None), Databases(folder, server)
            with sqlite, postgres:
                yield {
                    MEMORY: (None, InMemoryLedger()),
                    "SQLite": (sqlite, sqlite.ledger()),
                    "PostgreSQL": (postgres, postgres.ledger()),
                }


def measure_ledgers(*, rounds: int) -> Iterator[Row]:
    """Time all ledgers in turn, synchronous and asynchronous, and give their rows.

    Args:
        rounds: Rounds of each.
    """
    with _ledgers() as made:
        ledgers = {name: ledger for name, (_, ledger) in made.items()}
        for what, steps in overheard().items():
            yield from _added(what, steps, ledgers, rounds)
        for name, (databases, _) in made.items():
            if databases is not None:
                yield from _filled(name, databases, rounds)


def _added(what: str, steps: Callable[[Any], Steps[None]], ledgers: Mapping[str, Any], rounds: int) -> Iterator[Row]:
    def repeatedly(ledger: Any) -> Callable[[], None]:
        def calls() -> None:
            for _ in range(CALLS):
                run_steps(steps(ledger))

        return calls

    def arepeatedly(ledger: Any) -> Callable[[], Any]:
        async def calls() -> None:
            for _ in range(CALLS):
                await arun_steps(steps(ledger))

        return calls

    sync = compare({name: repeatedly(ledger) for name, ledger in ledgers.items()}, rounds=rounds)
    both = {
        "sync": sync,
        "async": asyncio.run(
            compare_async({name: arepeatedly(ledger) for name, ledger in ledgers.items()}, rounds=rounds)
        ),
    }
    for kind, timings in both.items():
        base = timings.median(MEMORY) / CALLS
        for name in ledgers:
            took = timings.median(name) / CALLS
            cpu = statistics.median(timings.cpu[name]) / CALLS * 1e3
            detail = f"{cpu:.3f} ms of this process's CPU"
            if name != MEMORY:
                detail = f"{(took - base) * 1e3:.2f} ms more than in memory; {detail}"
            yield Row(section="ledgers", what=f"{what}, {name}, {kind}", figure=f"{took * 1e3:.3f} ms", detail=detail)


def _filled(name: str, databases: Databases, rounds: int) -> Iterator[Row]:
    """An empty ledger beside one with a million events: listing what is pending, and appending."""
    empty, full = databases.ledger(databases.another()), databases.ledger(databases.another())
    full._database.write(_fill)
    for ledger in (empty, full):
        for number in range(PENDING):
            ledger.ask(request(request_id=f"pending {number}"), thread_id=f"thread {number}", at=NOW)

    def lists(ledger: SqlLedger) -> Callable[[], None]:
        def listing() -> None:
            for _ in range(CALLS):
                waiting: Any = ledger.pending()
                assert len(waiting) == PENDING

        return listing

    def appends(ledger: SqlLedger) -> Callable[[], None]:
        def appending() -> None:
            for _ in range(CALLS):
                key = f"r{next(_keys)}"
                ledger.answer(key, YES, thread_id=key, at=NOW)
                ledger.note([Entry("decided", key, key, {"v": 1})])

        return appending

    for what, make in (("list what is pending", lists), ("append an answer and a decision", appends)):
        timings = compare({"empty": make(empty), "full": make(full)}, rounds=rounds)
        low, ratio, high = timings.ratio("full", "empty")
        took, alone = (timings.median(which) / CALLS * 1e3 for which in ("full", "empty"))
        yield Row(
            section="ledgers",
            what=f"{what}, {name}, after {EVENTS_BEFORE:,} events",
            figure=f"{ratio:.2f} x",
            spread=f"{low:.2f} to {high:.2f}",
            detail=f"{took:.3f} ms; empty {alone:.3f} ms",
            bound=f"<= {AS_FAST_AS_EMPTY} x",
            held=ratio <= AS_FAST_AS_EMPTY,
        )


def _fill(connection: Connection) -> None:
    """A million events, as the requests leave behind that they are about: asked, answered, granted, started, ended."""
    kinds = ("asked", "answered", "grant_issued", "start_started", "call_finished")
    for first in range(0, EVENTS_BEFORE // len(kinds), 10_000):
        keys = [f"before {number}" for number in range(first, first + 10_000)]
        connection.execute(
            insert(REQUESTS),
            [{"request_id": key, "thread_id": key, "shown": "{}", "asked_at": 0, "open": False} for key in keys],
        )
        connection.execute(
            insert(ANSWERS),
            [
                {
                    "request_id": key,
                    "type": "approve",
                    "answer": "{}",
                    "thread_id": key,
                    "taken_back": False,
                    "attempt": key,
                }
                for key in keys
            ],
        )
        finished = GrantStatus.FINISHED.value
        connection.execute(
            insert(GRANTS), [{"request_id": key, "digest": "d", "status": finished, "attempt": key} for key in keys]
        )
        connection.execute(
            insert(EVENTS),
            [
                {"at": 0, "kind": kind, "request_id": key, "thread_id": key, "detail": "{}"}
                for key in keys
                for kind in kinds
            ],
        )
    if connection.dialect.name == "postgresql":
        # As the server does by itself, some time later.
        connection.execute(text("ANALYZE"))
