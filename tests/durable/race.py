"""Several processes answer and resume the same paused threads at once: each deed once, every surplus answer told so.

`python -m tests.durable.race` does so with 8 processes and 200 threads on PostgreSQL.
"""

import argparse
import os
import random
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row

from tests.durable.dying import in_child, new_case, prepare
from tests.graph.support import graph_chat
from tests.ledger.databases import start_postgres
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.hosts.langgraph.driving import pending_requests


def _note(root: Path, file: str, line: str) -> None:
    with (root / file).open("ab", buffering=0) as log:
        log.write(f"{line}\n".encode())


def _noted(root: Path, file: str) -> list[str]:
    return (root / file).read_text().splitlines() if (root / file).exists() else []


def _agents(root: Path, url: str) -> list[Chat]:
    """A process's agents, one of each form, on one ledger and one connection for checkpoints."""
    made = Recorder().tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))

    def doing(**given: Any) -> str:
        _note(root, "deeds", str(given["of"]))
        return "sent"

    made.func = doing
    opened = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
    gate = ToolGate(ledger=SqlLedger(url))

    def turn(messages: list[Any]) -> AIMessage:
        said = any(isinstance(one, AIMessage) for one in messages)
        return says(text="done") if said else says(call("send", "s", of=str(messages[-1].content)))

    about: dict[str, Any] = {"gate": gate, "checkpointer": PostgresSaver(opened)}
    script = [turn] * 10_000
    return [
        chat(script, [made], **about),
        chat(script, [made], middleware=gate.around(), **about),
        graph_chat(script, [made], **about),
    ]


def _pause(root: Path, url: str, threads: int) -> None:
    agents = _agents(root, url)
    for number in range(threads):
        talk = agents[number % 3]
        talk.thread = f"thread-{number}"
        talk.say(str(number))


def _answer_all(root: Path, url: str, threads: int, which: int, ready: int, start: int) -> None:
    """What one process does: it answers every thread that it saw waiting, in an order of its own."""
    agents, seen = _agents(root, url), []
    for number in range(threads):
        config = {"configurable": {"thread_id": f"thread-{number}"}}
        ((_, request),) = pending_requests(agents[number % 3].agent.get_state(config).interrupts)
        seen.append((number, config, request.request_id))
    # Half of them close on each other's heels, half in an order of their own.
    if which % 2:
        random.Random(which).shuffle(seen)
    os.write(ready, b"r")
    os.read(start, 1)
    for number, config, key in seen:
        talk = agents[number % 3]
        given = talk.gate.answer(talk.agent, config, {"type": "approve", "request_id": key})
        _note(root, "told", f"{number} {given.status}")


def race(root: Path, url: str, *, processes: int, threads: int) -> list[str]:
    """Let processes race for the answers of paused threads.

    Returns:
        What was wrong in the end.
    """
    in_child(prepare, new_case(root, url, "after_model", -1))
    in_child(lambda _: _pause(root, url, threads), new_case(root, url, "after_model", -2))
    ours, theirs = os.pipe()
    waiting, ready = os.pipe()
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            os.close(theirs)
            try:
                _answer_all(root, url, threads, number, ready, ours)
            except BaseException:
                _note(root, "faults", traceback.format_exc())
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(ready)
    # Nobody starts before all have seen what waits; one that died before that leaves the rest to go on.
    left = processes
    while left and (seen := os.read(waiting, left)):
        left -= len(seen)
    os.close(waiting)
    os.write(theirs, b"s" * processes)
    for child in children:
        os.waitpid(child, 0)
    os.close(ours)
    os.close(theirs)
    found, deeds, told = _noted(root, "faults"), Counter(_noted(root, "deeds")), Counter(_noted(root, "told"))
    for number in range(threads):
        statuses = {one.split()[1]: times for one, times in told.items() if one.split()[0] == str(number)}
        if statuses != {"accepted": 1, "already_answered": processes - 1} or deeds[str(number)] != 1:
            found.append(f"thread {number}: told {statuses}, done {deeds[str(number)]} times")
    return found


def main() -> None:
    """The race at full size."""
    parser = argparse.ArgumentParser(prog="python -m tests.durable.race", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--threads", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, start_postgres(Path(made)) as postgres:
        postgres.execute("CREATE SCHEMA race")
        postgres.leave()
        root = Path(made) / "threads"
        root.mkdir()
        found = race(root, postgres.url("race"), processes=given.processes, threads=given.threads)
    told = f"{given.processes} processes, {given.threads} threads, {len(found)} faults"
    sys.stdout.write("\n".join([told, *found, ""]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
