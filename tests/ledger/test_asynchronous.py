"""One ledger for synchronous and asynchronous code: a running loop is never blocked, and what is begun is done."""

import asyncio
import contextvars
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import event

from tests.ledger.databases import Databases
from toolgate_langchain import ApprovalAnswer, SqlLedger
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, StartStatus
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps

YES = ApprovalAnswer(type="approve")


async def test_while_the_database_is_locked_the_loop_goes_on(sqlite: Databases, tmp_path: Path) -> None:
    ledger = sqlite.ledger(sqlite.url.replace("timeout=0.2", "timeout=60"))
    await asyncio.to_thread(ledger.prepare)
    other = sqlite3.connect(tmp_path / f"{sqlite.name}.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(awaited(ledger.start(CallStart("r", "d", needs_grant=False, repeatable=False))))
    assert await awaited(ledger.status("r")) is None
    assert not waiting.done()
    # Had the call blocked the loop, nobody would ever come here to unlock it.
    other.execute("ROLLBACK")
    other.close()
    assert await waiting is StartStatus.STARTED


async def awaited(given: Any) -> Any:
    return await given


async def test_what_was_begun_is_done_also_where_nobody_awaits_it(databases: Databases) -> None:
    ledger = databases.ledger()
    ledger.answer("r", YES)
    await asyncio.to_thread(ledger.close)
    assert await awaited(ledger.answer_to("r")) == YES


def test_one_ledger_serves_several_loops_and_none(sql: SqlLedger) -> None:
    async def answered() -> Any:
        return await awaited(sql.answer("r", YES))

    assert asyncio.run(answered()) is AnswerStatus.RECORDED
    assert asyncio.run(answered()) is AnswerStatus.REPEATED
    assert sql.answer("r", YES) is AnswerStatus.REPEATED


async def test_a_flow_uses_it_in_both_worlds_also_synchronously_below_a_running_loop(sql: SqlLedger) -> None:
    def flow(key: str) -> Steps[Any]:
        first = yield lambda: sql.claim(key)
        second = yield lambda: sql.claim(key)
        yield lambda: sql.release(key)
        return first, second, (yield lambda: sql.claim(key))

    assert await arun_steps(flow("a")) == (True, False, True)
    assert run_steps(flow("b")) == (True, False, True)
    assert await asyncio.to_thread(run_steps, flow("c")) == (True, False, True)


async def test_the_context_of_the_caller_goes_along(sql: SqlLedger) -> None:
    """So that a trace of what the database is asked hangs where it belongs."""
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace", default="none")
    seen: list[str] = []
    event.listen(sql._database._engine, "before_cursor_execute", lambda *_: seen.append(trace.get()))

    async def asks(name: str) -> None:
        trace.set(name)
        await awaited(sql.stopped())

    await asyncio.gather(*(asyncio.create_task(asks(name)) for name in ("a", "b")))
    assert {"a", "b"} <= set(seen)


async def test_more_calls_at_once_than_connections_all_come_through(sql: SqlLedger) -> None:
    given = await asyncio.gather(
        *(awaited(sql.start(CallStart("r", "d", needs_grant=False, repeatable=False))) for _ in range(50))
    )
    assert sorted(status.value for status in given) == ["started", *["used"] * 49]


async def test_a_call_that_is_given_up_leaves_the_ledger_usable(sql: SqlLedger) -> None:
    task = asyncio.create_task(awaited(sql.start(CallStart("r", "d", needs_grant=False, repeatable=False))))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    # Whether it was begun or not, it can be known, and it was not begun twice.
    second = await awaited(sql.start(CallStart("r", "d", needs_grant=False, repeatable=False)))
    third = await awaited(sql.start(CallStart("r", "d", needs_grant=False, repeatable=False)))
    assert second in (StartStatus.STARTED, StartStatus.USED)
    assert third is StartStatus.USED
