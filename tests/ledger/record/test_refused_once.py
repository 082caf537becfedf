"""A worker that dies between writing a refusal and saving it makes the refusal again: the record has it once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.ledger.databases import Databases
from tests.ledger.record.reading import told
from tests.support import Recorder, call, chat, says
from toolgate_langchain import Surface, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.approvals.recording.entries import Entry

NOTE = ToolProfile(tier=Tier.ROUTINE)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A ledger of each kind that keeps the record."""
    if request.param == "memory":
        yield RecordingInMemoryLedger()
        return
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with Databases(tmp_path, server) as made:
        yield made.ledger()


class Dies(KeyboardInterrupt):
    """What a worker that is killed does: nothing more."""


def refused_and_died(ledger: Any, ran: Recorder, call_ids: list[str]) -> Any:
    """A conversation whose calls were all refused at their last step; its worker died before that was saved."""
    saver: Any = InMemorySaver()
    surface = Surface("cron", attended=False)
    gate = ToolGate(surfaces=[surface], ledger=ledger)
    turn = says(*(call("note", one, n=1) for one in call_ids))
    talk = chat([turn, says(text="done")], [ran.tool("note", NOTE)], gate=gate, checkpointer=saver, surface="cron")
    put, put_writes, dead = saver.put, saver.put_writes, list[bool]()

    def dying(save: Any) -> Any:
        def saving(*given: Any) -> Any:
            if dead or "was not executed" in str(given):
                dead.append(True)
                raise Dies
            return save(*given)

        return saving

    saver.put, saver.put_writes = dying(put), dying(put_writes)
    with pytest.raises(Dies):
        talk.say()
    saver.put, saver.put_writes = put, put_writes
    return talk


def test_a_refusal_that_a_crash_makes_twice_is_in_the_record_once(kept: Any) -> None:
    ran = Recorder()
    talk = refused_and_died(kept, ran, ["a"])
    assert len(told(kept, "decided")) == 1
    talk.invoke(None)
    assert (talk.messages[-1].text, ran.runs) == ("done", [])
    (said,) = told(kept, "decided")
    assert (said["call"]["id"], said["decision"]["verdict"]) == ("a", Verdict.DENY.value)


def test_refusals_of_calls_that_look_the_same_are_each_in_the_record(kept: Any) -> None:
    talk = refused_and_died(kept, Recorder(), ["a", "b"])
    talk.invoke(None)
    assert sorted(one["call"]["id"] for one in told(kept, "decided")) == ["a", "b"]


def test_what_is_the_same_in_every_replay_is_written_once_and_everything_else_each_time(kept: Any) -> None:
    first = Entry("decided", "r", "thread", {"n": 1}, once="the same")
    kept.note([first])
    kept.note([first, Entry("decided", "r", "thread", {"n": 2}, once="another")])
    for _ in range(2):
        kept.note([Entry("decided", "r", "thread", {"n": 3})])
    assert [one.detail["n"] for one in kept.events()] == [1, 2, 3, 3]
