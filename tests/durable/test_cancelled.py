"""A run is cancelled at any await between request and recorded result, as when a client hangs up; another goes on.

What was begun for it in a thread is done all the same: the run does not hear of it any more.
"""

import asyncio
import os
from collections.abc import Awaitable
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from tests.durable.dying import LEASE, START, Case, agent, go_on
from tests.durable.points import Points
from tests.ledger.databases import Databases
from toolgate_langchain.approvals.steps import arun_steps
from toolgate_langchain.errors import AlreadyAnsweredError


class Cancelling(Points):
    """Cancels the run at its step, where it then waits next."""

    run: "asyncio.Task[None] | None" = None
    cancelled = False

    def step(self) -> None:
        """One step is reached."""
        self.reached = next(self._numbers) + 1
        if self.reached - 1 == self._die_at:
            assert self.run is not None
            self.cancelled = True
            self.run.cancel()

    async def _awaited(self, given: Awaitable[Any]) -> Any:
        """It was begun, and nobody waits for it any more."""
        self.step()
        return await given


def ends(case: Case, points: Cancelling, now: datetime, saver: InMemorySaver) -> bool:
    """Let a worker go on with the conversation; whether it brought it to its end."""
    ledgers: list[Any] = []

    async def work() -> None:
        points.run = asyncio.current_task()
        talk = agent(case, points, now, saver)
        ledgers.append(talk.gate.ledger)
        await arun_steps(go_on(case, talk))

    try:
        asyncio.run(work())
    except (asyncio.CancelledError, AlreadyAnsweredError):
        return False
    finally:
        for ledger in ledgers:
            ledger.close()
    return True


def test_at_every_await_another_run_brings_the_conversation_to_its_end(databases: Databases, tmp_path: Path) -> None:
    """Nothing runs unapproved or twice, no answer is lost, and no call is left open.

    While each change is under way, every other one on each database; with `TOOLGATE_TIMES=2` each on both, and before
    each word to ledger and checkpoints.
    """
    changes = os.environ.get("TOOLGATE_TIMES", "1") == "1"
    first, further = (int(databases.postgres is not None), 2) if changes else (0, 1)
    url = databases.url.replace("timeout=0.2", "timeout=30")
    now = START
    for number in count(first, further):
        folder = tmp_path / str(number)
        folder.mkdir()
        thread = f"thread-{number}"
        case = Case(folder, url, "after_model", thread, calls=(("send", "a"),), asynchronous=True)
        saver, points = InMemorySaver(), Cancelling(number, changes=changes)
        ended = ends(case, points, now, saver)
        for _ in range(4):
            if not ended:
                now += LEASE + timedelta(seconds=1)
                ended = ends(case, Cancelling(None), now, saver)
        assert (case.noted("faults"), ended) == ([], True), f"it was cancelled at step {number}"
        if not points.cancelled:
            break
    assert number > 20
