"""A call whose record cannot be written does not run, on every host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from tests.ledger.databases import Databases
from tests.ledger.record.reading import told
from tests.support import Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Surface, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.errors import LedgerError
from toolgate_langchain.testing import all_hosts
from toolgate_langchain.testing.hosts import Setup

HOSTS = all_hosts()
NAMES = [f"{host.name}, {'async' if host.asynchronous else 'sync'}" for host in HOSTS]

PROFILES = {
    "read": ToolProfile(tier=Tier.READ_ONLY),
    "sync": ToolProfile(tier=Tier.ROUTINE, idempotent=True),
    "note": ToolProfile(tier=Tier.ROUTINE),
    "send": ToolProfile(tier=Tier.CONSEQUENTIAL),
}


def takes_no_decisions(connection: Connection) -> None:
    """From now on the database takes everything but the entry of a decision, as where its disk is just full then."""
    connection.execute(
        text(
            "CREATE TRIGGER full BEFORE INSERT ON toolgate_events WHEN NEW.kind = 'decided' "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    )


@pytest.mark.parametrize("position", range(len(HOSTS)), ids=NAMES)
def test_a_call_whose_record_cannot_be_written_does_not_run(position: int, tmp_path: Path) -> None:
    """Consequential and routine, asked about or not; one that is only read and that nobody records does."""
    host, ran = HOSTS[position], Recorder()
    tools = [ran.tool(name, profile) for name, profile in PROFILES.items()]
    surface = Surface("chat", routine=Verdict.ALLOW)
    with Databases(tmp_path, None) as made:
        ledger = made.ledger()
        ledger.prepare()
        ledger._database.write(takes_no_decisions)

        def talk(*names: str, **options: Any) -> Any:
            gate = ToolGate(None, [surface], ledger=ledger, **options)
            script = [says(*(call(name, f"{name}-1", n=1) for name in names)), says(text="done")]
            return host.start(Setup(gate=gate, script=script, tools=tools, surface="chat"))

        for names, options in ((["note"], {}), (["sync"], {}), (["read"], {"record": "all"}), (["unknown"], {})):
            with pytest.raises(LedgerError, match="disk full"):
                talk(*names, **options).say("go")
        said = talk("send")
        said.say("go")
        (request,) = said.requests
        with pytest.raises(LedgerError, match="disk full"):
            said.answer({"type": "approve", "request_id": request.request_id})
        assert ran.runs == []
        talk("read").say("go")
        assert ran.names == ["read"], "the control"
        ledger._database.write(lambda connection: connection.execute(text("DROP TRIGGER full")))
        said.go_on()
        assert ran.names == ["read", "send"], "and the approval was not used up by what did not run"


def test_what_is_judged_and_cannot_be_written_is_not_asked(sql: SqlLedger, ran: Recorder) -> None:
    sql.prepare()

    def takes_no_judgement(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.execute(
                text(
                    "CREATE TRIGGER full BEFORE INSERT ON toolgate_events WHEN NEW.kind = 'judged' "
                    "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
                )
            )
        else:
            connection.execute(text("ALTER TABLE toolgate_events ADD CHECK (kind <> 'judged')"))

    sql._database.write(takes_no_judgement)
    talk = chat([says(call("send", "a"))], [ran.tool("send", PROFILES["send"])], gate=ToolGate(ledger=sql))
    with pytest.raises(LedgerError):
        talk.say()
    assert (talk.requests, ran.runs) == ([], [])


def test_a_start_and_its_entry_are_written_both_or_neither(sql: SqlLedger, ran: Recorder) -> None:
    gate = ToolGate(None, [Surface("chat", routine=Verdict.ALLOW)], ledger=sql)
    chat([says(call("note", "a"))], [ran.tool("note", PROFILES["note"])], gate=gate).say()
    events: Any = sql.events()
    assert [event.kind for event in events] == ["decided", "start_started", "call_finished", "ended"]
    assert len({event.request_id for event in events}) == 1
    assert ran.names == ["note"]
    assert [one["call"]["id"] for one in told(sql, "decided", thread_id="thread")] == ["a"]
