"""A conversation whose workers may die at any step, and what must hold of it in the end.

Each worker is a process of its own, forked off one that has loaded the libraries and holds nothing open.
"""

import asyncio
import gc
import os
import sqlite3
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import aiosqlite
import jsonschema
import psycopg
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row

import tests.preloaded
import toolgate_langchain.hosts.langgraph.around
from tests.durable.points import CHECKPOINTER, LEDGER, Points
from tests.graph.support import graph_chat
from tests.ledger.quick import without_the_disk
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.langgraph.driving import pending_requests

__all__ = ["jsonschema", "tests", "toolgate_langchain"]  # loaded here, so that no worker has to load them

FORMS = ("after_model", "after_agent", "graph")
LEASE = timedelta(minutes=5)
DONE, LEASED, FAULTY = 0, 3, 4
"""Exit codes of workers; see `worker`."""

START = datetime(2026, 1, 2, tzinfo=UTC)
_begun = count()


@dataclass(frozen=True)
class Case:
    """One conversation."""

    folder: Path
    """Where its logs are."""
    url: str
    """The ledger's database; in PostgreSQL also that of the checkpoints."""
    form: str
    thread: str = "thread"
    calls: tuple[tuple[str, str], ...] = (("send", "a"), ("read", "r"))
    """Each call's tool and id. The person says no to `keep`."""
    changes: bool = False
    """See `Points`."""
    asynchronous: bool = False
    """Whether agents, checkpoints and ledger are awaited."""
    start: datetime = START
    """When it begins. Conversations with one ledger come one after the other, as its record does."""

    def note(self, file: str, line: str) -> None:
        """Write a line that is there also when the process dies right after."""
        with (self.folder / file).open("ab", buffering=0) as log:
            log.write(f"{line}\n".encode())

    def noted(self, file: str) -> list[str]:
        """The lines of a log."""
        path = self.folder / file
        return path.read_text().splitlines() if path.exists() else []


def _saver(case: Case) -> Any:
    if case.url.startswith("sqlite"):
        file = sqlite3.connect(case.folder.parent / "checkpoints.db", check_same_thread=False, timeout=30)
        without_the_disk(file)
        return SqliteSaver(file)
    opened = psycopg.connect(case.url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
    return PostgresSaver(opened)


async def _asaver(case: Case) -> Any:
    if case.url.startswith("sqlite"):
        file = await aiosqlite.connect(case.folder.parent / "checkpoints.db", timeout=30)
        await file.execute("PRAGMA synchronous = OFF")
        return AsyncSqliteSaver(file)
    connect = psycopg.AsyncConnection.connect
    return AsyncPostgresSaver(await connect(case.url, autocommit=True, prepare_threshold=0, row_factory=dict_row))


def prepare(case: Case) -> None:
    """Make the tables, which a worker that comes later finds."""
    SqlLedger(case.url).prepare()
    saver = _saver(case)
    saver.setup()


def agent(case: Case, points: Points, now: datetime, saver: Any) -> Chat:
    """A worker's agent on the thread of a conversation, with connections of its own."""
    ran = Recorder()

    def tool(name: str, tier: Tier) -> Any:
        made = ran.tool(name, ToolProfile(tier=tier, requires_approval=True))

        def doing(**given: Any) -> str:
            points.step()
            if f"approve {given['of']}" not in case.noted("said"):
                case.note("faults", f"{name} ran, and nobody had approved it")
            case.note("deeds", str(given["of"]))
            points.step()
            return f"ran {name}"

        async def adoing(**given: Any) -> str:
            await asyncio.sleep(0)
            done = doing(**given)
            await asyncio.sleep(0)
            return done

        made.func, made.coroutine = doing, adoing
        return made

    tools = [tool("send", Tier.CONSEQUENTIAL), tool("keep", Tier.ROUTINE), tool("read", Tier.READ_ONLY)]
    ledger = points.around(SqlLedger(case.url, clock=lambda: now, lease=LEASE), LEDGER)
    saver = points.around(saver, CHECKPOINTER)
    gate = ToolGate(ledger=ledger, clock=lambda: now)
    turn = says(*(call(name, key, of=key) for name, key in case.calls))

    def first(messages: list[Any]) -> AIMessage:
        return says(text="done") if any(isinstance(one, AIMessage) for one in messages) else turn

    script = [first] * 3
    if case.form == "graph":
        return graph_chat(script, tools, gate=gate, checkpointer=saver, thread=case.thread)
    middleware = gate.around() if case.form == "after_agent" else None
    return chat(script, tools, gate=gate, middleware=middleware, checkpointer=saver, thread=case.thread)


def _answer(case: Case, talk: Chat, request: Any) -> Steps[None]:
    """The person looks at the request, says what there is to say, and is never asked what is on record."""
    of = request.arguments["of"]
    if (yield lambda: talk.gate.ledger.answer_to(request.request_id)) is not None:
        case.note("faults", f"the answer to {request.kind} {of} was lost: it is asked for again")
    kind = "reject" if request.tool_name == "keep" else "approve"
    if request.kind == "outcome":
        kind = "done" if of in case.noted("deeds") else "try_again"
    case.note("said", f"{kind} {of}")
    answer = talk.gate.aanswer if case.asynchronous else talk.gate.answer
    given = yield lambda: answer(talk.agent, talk.config, {"type": kind, "request_id": request.request_id})
    if given.status == "already_answered":
        # A worker that died had begun to carry an answer of the same person.
        raise AlreadyAnsweredError(given.detail)


def go_on(case: Case, talk: Chat) -> Steps[None]:
    """Go on with the conversation, wherever the last one left it."""
    agent = talk.agent
    look, invoke = (agent.aget_state, agent.ainvoke) if case.asynchronous else (agent.get_state, agent.invoke)
    state = yield lambda: look(talk.config)
    if not state.values.get("messages"):
        yield lambda: invoke({"messages": [HumanMessage("go")]}, talk.config)
    elif state.tasks:
        # Not `next`, which leaves out what was done and is not in a checkpoint yet.
        yield lambda: invoke(None, talk.config)
    for _ in range(20):
        state = yield lambda: look(talk.config)
        if requests := pending_requests(state.interrupts):
            yield from _answer(case, talk, requests[0][1])
        elif state.tasks:
            yield lambda: invoke(None, talk.config)
        else:
            _look(case, state.values["messages"])
            return
    case.note("faults", "it never comes to an end")


def _work(case: Case, points: Points, now: datetime) -> None:
    """What a worker does, in either way."""
    if not case.asynchronous:
        saver = _saver(case)
        talk = agent(case, points, now, saver)
        run_steps(go_on(case, talk))
        saver.conn.close()
        _close(talk)
        return

    async def work() -> None:
        saver = await _asaver(case)
        talk = agent(case, points, now, saver)
        await arun_steps(go_on(case, talk))
        await saver.conn.close()
        _close(talk)

    asyncio.run(work())


def _close(talk: Chat) -> None:
    ledger: Any = talk.gate.ledger
    ledger.close()


def practise(case: Case) -> None:
    """Go through a conversation of its own in this process, which then holds nothing open.

    Workers that are forked off it have what every process that was at work for a while has: its libraries have looked
    up what they look up once, and its statements are written out.
    """
    _work(case, Points(None, changes=case.changes), case.start)
    assert case.noted("faults") == []
    gc.freeze()


def _look(case: Case, messages: list[BaseMessage]) -> None:
    """What must hold in the end."""
    (asked,) = [one for one in messages if isinstance(one, AIMessage) and one.tool_calls]
    told = [one for one in messages if isinstance(one, ToolMessage)]
    results = [one.tool_call_id for one in told]
    if sorted(results) != sorted(str(one["id"]) for one in asked.tool_calls):
        case.note("faults", f"the calls have the results {results}")
    if messages[-1].text != "done":
        case.note("faults", f"the last word is {messages[-1].text!r}")
    deeds = case.noted("deeds")
    for name, key in case.calls:
        times = deeds.count(key)
        if not {"send": times == 1, "keep": times == 0, "read": times >= 1}[name]:
            case.note("faults", f"{name} {key} was done {times} times; results: {[one.text for one in told]}")


def worker(case: Case, die_at: int | None, now: datetime) -> int:
    """Fork a worker off, and wait for its end.

    Returns:
        `KILLED`, `DONE`, `LEASED` where a dead one's lease is not over, or `FAULTY`.
    """
    child = os.fork()
    if child == 0:
        points = Points(die_at, changes=case.changes)
        try:
            _work(case, points, now)
            case.note("points", str(points.reached))
        except AlreadyAnsweredError:
            os._exit(LEASED)
        except BaseException:
            case.note("faults", traceback.format_exc())
            os._exit(FAULTY)
        os._exit(DONE)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def new_case(root: Path, url: str, form: str, number: int, **options: Any) -> Case:
    """A conversation on a thread of its own."""
    folder = root / str(number)
    folder.mkdir()
    start = START + next(_begun) * timedelta(hours=1)
    return Case(folder, url, form, f"{root.name} {number}", start=start, **options)


def in_child(work: Callable[[Case], None], case: Case) -> None:
    child = os.fork()
    if child == 0:
        work(case)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
