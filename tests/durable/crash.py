"""Kills workers at every step between request and recorded result, lets others go on, and looks at what came of it.

Each worker is a process of its own, forked off one that has loaded the libraries and opened nothing. The steps are all
calls of the ledger's and the checkpointer's methods, right before and right after, and those of the tools; a worker
dies at one of them without another word. `python -m tests.durable.crash --runs 1000` does so at random, several times
in one conversation.
"""

import argparse
import os
import random
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema
import psycopg
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg.rows import dict_row

import tests.preloaded
import toolgate_langchain.hosts.langgraph.around
from tests.graph.support import graph_chat
from tests.ledger.databases import start_postgres
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.langgraph.driving import pending_requests

__all__ = ["jsonschema", "tests", "toolgate_langchain"]  # loaded here, so that no worker has to load them

FORMS = ("after_model", "after_agent", "graph")
LEASE = timedelta(minutes=5)
KILLED, DONE, LEASED, FAULTY = 9, 0, 3, 4
START = datetime(2026, 1, 2, tzinfo=UTC)

_NOT_STEPS = {
    "close",
    "events",
    "prepare",
    "quiet",
    "resume",
    "stop",
}  # what no run does, or what is not in the database
LEDGER = sorted({name for name in dir(SqlLedger) if not name.startswith("_")} - _NOT_STEPS)
_OF_SAVERS = vars(BaseCheckpointSaver)
CHECKPOINTER = sorted(name for name, method in _OF_SAVERS.items() if not name.startswith("_") and callable(method))
"""Every method of both; none is left out, whether or not a conversation comes to it."""


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

    def note(self, file: str, line: str) -> None:
        """Write a line that is there also when the process dies right after."""
        with (self.folder / file).open("ab", buffering=0) as log:
            log.write(f"{line}\n".encode())

    def noted(self, file: str) -> list[str]:
        """The lines of a log."""
        path = self.folder / file
        return path.read_text().splitlines() if path.exists() else []


READS = frozenset(
    {
        *("answer_to", "answered_at", "asked", "change", "ends_at", "events", "held", "identity", "left_answer"),
        *("left_answers", "memory", "pending", "result", "revoked", "rules_of", "said", "status", "stopped"),
        *("taken_back", "thread_of", "thread_rules", "tries", "user_rules"),
        *("get", "get_tuple", "list", "get_next_version", "get_delta_channel_history", "aget_tuple", "alist", "aget"),
    }
)
"""Methods that change nothing. Who dies around one of them leaves what who died after the last change left."""


class Points:
    """Counts steps, and dies at one of them.

    Args:
        die_at: The step.
        changes: Whether only what is right after a change is a step: all that others can tell apart.
    """

    def __init__(self, die_at: int | None, *, changes: bool = False) -> None:
        self._die_at, self._numbers, self.reached = die_at, count(), 0
        self._changes = changes

    def step(self) -> None:
        """One step is reached."""
        self.reached = next(self._numbers) + 1
        if self.reached - 1 == self._die_at:
            os._exit(KILLED)

    def around(self, thing: Any, methods: list[str]) -> Any:
        """An object whose methods have a step before and a step after them."""
        for name in methods:
            method = getattr(thing, name, None)
            if callable(method) and not (self._changes and name in READS):
                setattr(thing, name, self._stepping(method))
        return thing

    def _stepping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*args: Any, **kwargs: Any) -> Any:
            if not self._changes:
                self.step()
            given = method(*args, **kwargs)
            self.step()
            return given

        return stepping


def _saver(case: Case) -> Any:
    if case.url.startswith("sqlite"):
        return SqliteSaver(sqlite3.connect(case.folder.parent / "checkpoints.db", check_same_thread=False, timeout=30))
    opened = psycopg.connect(case.url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
    return PostgresSaver(opened)


def prepare(case: Case) -> None:
    """Make the tables, which a worker that comes later finds."""
    SqlLedger(case.url).prepare()
    saver = _saver(case)
    saver.setup()


def agent(case: Case, points: Points, now: datetime) -> Chat:
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

        made.func = doing
        return made

    tools = [tool("send", Tier.CONSEQUENTIAL), tool("keep", Tier.ROUTINE), tool("read", Tier.READ_ONLY)]
    ledger = points.around(SqlLedger(case.url, clock=lambda: now, lease=LEASE), LEDGER)
    saver = points.around(_saver(case), CHECKPOINTER)
    gate = ToolGate(ledger=ledger, clock=lambda: now)
    turn = says(*(call(name, key, of=key) for name, key in case.calls))

    def first(messages: list[Any]) -> AIMessage:
        return says(text="done") if any(isinstance(one, AIMessage) for one in messages) else turn

    script = [first] * 3
    if case.form == "graph":
        return graph_chat(script, tools, gate=gate, checkpointer=saver, thread=case.thread)
    middleware = gate.around() if case.form == "after_agent" else None
    return chat(script, tools, gate=gate, middleware=middleware, checkpointer=saver, thread=case.thread)


def _answer(case: Case, talk: Chat, request: Any) -> None:
    """The person looks at the request, says what there is to say, and is never asked what is on record."""
    of = request.arguments["of"]
    if talk.gate.ledger.answer_to(request.request_id) is not None:
        case.note("faults", f"the answer to {request.kind} {of} was lost: it is asked for again")
    kind = "reject" if request.tool_name == "keep" else "approve"
    if request.kind == "outcome":
        kind = "done" if of in case.noted("deeds") else "try_again"
    case.note("said", f"{kind} {of}")
    given = talk.gate.answer(talk.agent, talk.config, {"type": kind, "request_id": request.request_id})
    if given.status == "already_answered":
        # A worker that died had begun to carry an answer of the same person.
        raise AlreadyAnsweredError(given.detail)


def _work(case: Case, points: Points, now: datetime) -> None:
    """What a worker does: it goes on with the conversation, wherever the last one left it."""
    talk = agent(case, points, now)
    state = talk.agent.get_state(talk.config)
    if not state.values.get("messages"):
        talk.say()
    elif state.tasks:
        # Not `next`, which leaves out what was done and is not in a checkpoint yet.
        talk.invoke(None)
    for _ in range(20):
        state = talk.agent.get_state(talk.config)
        if requests := pending_requests(state.interrupts):
            _answer(case, talk, requests[0][1])
        elif state.tasks:
            talk.invoke(None)
        else:
            _look(case, talk)
            return
    case.note("faults", "it never comes to an end")


def _look(case: Case, talk: Chat) -> None:
    """What must hold in the end."""
    messages = talk.messages
    (asked,) = [one for one in messages if isinstance(one, AIMessage) and one.tool_calls]
    results = [one.tool_call_id for one in messages if isinstance(one, ToolMessage)]
    if sorted(results) != sorted(str(one["id"]) for one in asked.tool_calls):
        case.note("faults", f"the calls have the results {results}")
    if messages[-1].text != "done":
        case.note("faults", f"the last word is {messages[-1].text!r}")
    deeds = case.noted("deeds")
    for name, key in case.calls:
        times = deeds.count(key)
        if not {"send": times == 1, "keep": times == 0, "read": times >= 1}[name]:
            case.note("faults", f"{name} {key} was done {times} times; results: {[one.text for one in talk.results]}")


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


def converse(case: Case, deaths: list[int]) -> tuple[int, list[str]]:
    """Let workers die at the given steps, one after the other, and another one bring it to its end.

    Returns:
        How many of them came to die there, and the faults that were found.
    """
    now, died = START, 0
    for die_at in [*deaths, None]:
        code, waits = LEASED, 0
        while code == LEASED and waits < 4:
            code = worker(case, die_at, now)
            now += LEASE if code == LEASED else timedelta(seconds=1)
            waits += code == LEASED
        if code == LEASED:
            case.note("faults", "the lease of a dead worker is never over")
        died += code == KILLED
        if case.noted("faults") or (die_at is not None and code == DONE):
            break
    return died, case.noted("faults")


def new_case(root: Path, url: str, form: str, number: int, **options: Any) -> Case:
    """A conversation on a thread of its own."""
    folder = root / str(number)
    folder.mkdir()
    return Case(folder, url, form, f"thread-{number}", **options)


def every_point(root: Path, url: str, form: str, **options: Any) -> tuple[int, list[str]]:
    """Die at the first step, at the second, and so on, each in a conversation of its own, up to the last.

    Returns:
        How many steps there are, and the faults.
    """
    in_child(prepare, new_case(root, url, form, -1))
    for number in count():
        died, faults = converse(new_case(root, url, form, number, **options), [number])
        if faults or not died:
            return number, faults
    raise AssertionError


def main() -> None:
    """Many conversations, each with up to three deaths at random steps."""
    parser = argparse.ArgumentParser(prog="python -m tests.durable.crash", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rolls, deaths, found = random.Random(given.seed), 0, list[str]()
    calls = (("send", "a"), ("keep", "k"), ("read", "r"), ("send", "b"))
    with tempfile.TemporaryDirectory() as made, start_postgres(Path(made)) as postgres:
        roots = [Path(made) / "sqlite", Path(made) / "postgresql"]
        postgres.execute("CREATE SCHEMA crashes")
        urls = [f"sqlite:///{roots[0] / 'ledger.db'}?timeout=30", postgres.url("crashes")]
        for root, url in zip(roots, urls, strict=True):
            root.mkdir()
            in_child(prepare, new_case(root, url, FORMS[0], -1))
        postgres.leave()
        for number in range(given.runs):
            which = number % 2
            case = new_case(roots[which], urls[which], rolls.choice(FORMS), number, calls=calls)
            died, faults = converse(case, [rolls.randrange(160) for _ in range(rolls.randint(1, 3))])
            deaths += died
            found += [f"run {number}, {case.form}, {case.url[:6]}: {fault}" for fault in faults]
            if number % 100 == 99:
                sys.stderr.write(f"{number + 1} runs, {deaths} deaths, {len(found)} faults\n")
    sys.stdout.write("\n".join([f"{given.runs} runs, {deaths} deaths, {len(found)} faults", *found, ""]))
    sys.exit(bool(found))


def in_child(work: Callable[[Case], None], case: Case) -> None:
    child = os.fork()
    if child == 0:
        work(case)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    main()
