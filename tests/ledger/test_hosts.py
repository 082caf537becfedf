"""Agents behind a gate whose ledger is a database: all is as with one in memory, and without it nothing is released."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text

from tests.ledger.databases import Databases
from tests.ledger.line import Line
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import LedgerError, LedgerSchemaError

ASYNCHRONOUS = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])


@pytest.fixture
def line(postgresql: Databases) -> Iterator[Line]:
    assert postgresql.postgres is not None
    with Line(postgresql.postgres.socket) as line:
        yield line


@pytest.fixture
def far(postgresql: Databases, line: Line) -> SqlLedger:
    """A ledger at the end of a line that can break."""
    assert postgresql.postgres is not None
    ledger = postgresql.ledger(postgresql.postgres.url(postgresql.name, port=line.port))
    ledger.prepare()
    return ledger


def talk(ran: Recorder, ledger: SqlLedger, *turns: Any, asynchronous: bool = False, **options: Any) -> Chat:
    tools = [
        ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)),
        ran.tool("save", ToolProfile(tier=Tier.ROUTINE)),
        ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL)),
    ]
    return chat(turns, tools, gate=ToolGate(ledger=ledger, **options), asynchronous=asynchronous)


@ASYNCHRONOUS
def test_a_conversation_goes_as_with_a_ledger_in_memory(sql: SqlLedger, asynchronous: bool) -> None:
    ran = Recorder()
    turns = [
        says(call("read", "a"), call("save", "b", n=1), call("send", "c", n=1)),
        says(call("save", "d", n=1), call("send", "e", n=1), call("send", "f", n=2)),
    ]
    said = talk(ran, sql, *turns, asynchronous=asynchronous)
    said.say()
    said.answer(remember="arguments")
    said.answer("reject", message="not now")
    said.answer("edit", edited_action={"name": "send", "args": {"n": 3}})
    assert sorted(ran.names) == ["read", "save", "save", "send"]
    assert ("send", {"n": 3}) in ran.runs
    assert "not now" in said.result("c")
    assert "refused" in said.result("e") or "reject" in said.result("e")
    assert said.requests == []


@ASYNCHRONOUS
def test_the_switch_of_one_worker_stops_the_calls_of_all_at_the_last_step(
    databases: Databases, asynchronous: bool
) -> None:
    ran = Recorder()
    turns = [says(call("send", "a")), says(text="stopped"), says(call("read", "b"))]
    said = talk(ran, databases.ledger(), *turns, asynchronous=asynchronous)
    said.say()
    databases.ledger().stop()
    said.answer()
    assert ran.runs == []
    databases.ledger().resume()
    said.say("again")
    assert ran.names == ["read"]


@ASYNCHRONOUS
@pytest.mark.parametrize("tool", ["read", "save", "send"])
def test_a_ledger_that_is_away_when_a_call_is_proposed_releases_nothing(
    far: SqlLedger, line: Line, tool: str, asynchronous: bool
) -> None:
    ran = Recorder()
    said = talk(ran, far, says(call(tool, "a")), says(call(tool, "b")), asynchronous=asynchronous)
    line.down = True
    with pytest.raises(LedgerError, match="nothing is released"):
        said.say()
    assert ran.runs == []


@ASYNCHRONOUS
def test_a_ledger_that_is_away_when_a_person_answers_loses_no_answer_and_releases_nothing(
    far: SqlLedger, line: Line, asynchronous: bool
) -> None:
    ran = Recorder()
    said = talk(ran, far, says(call("send", "a", n=1), call("save", "b", n=2)), asynchronous=asynchronous)
    said.say()
    said.answer()
    line.down = True
    with pytest.raises(LedgerError):
        said.answer()
    assert ran.runs == []
    line.down = False
    said.invoke(None)
    assert sorted(ran.runs) == [("save", {"n": 2}), ("send", {"n": 1})]
    assert said.requests == []


@ASYNCHRONOUS
def test_a_ledger_that_is_away_at_the_last_step_releases_nothing_and_the_approval_is_still_there(
    far: SqlLedger, line: Line, asynchronous: bool
) -> None:
    ran = Recorder()
    said = talk(ran, far, says(call("send", "a")), asynchronous=asynchronous)
    said.say()
    said.agent.interrupt_before_nodes = ["tools"]
    said.answer()
    said.agent.interrupt_before_nodes = []
    assert ran.runs == []
    line.down = True
    with pytest.raises(LedgerError):
        said.invoke(None)
    assert ran.runs == []
    line.down = False
    said.invoke(None)
    assert ran.names == ["send"]


@ASYNCHRONOUS
def test_a_ledger_that_goes_away_while_a_tool_runs_leaves_an_unknown_outcome_and_nothing_is_repeated(
    far: SqlLedger, line: Line, asynchronous: bool
) -> None:
    ran = Recorder()
    said = talk(ran, far, says(call("send", "a")), asynchronous=asynchronous)
    said.say()
    line.cut_before = b"call_finished"

    def goes_down(_: float) -> None:
        line.down = True

    far._database._retrying.sleep = goes_down
    with pytest.raises(LedgerError):
        said.answer()
    assert ran.names == ["send"]
    line.down = False
    said.invoke(None)
    assert (said.request.kind, said.request.tool_name) == ("outcome", "send")
    said.answer("reject")
    assert ran.names == ["send"]
    assert "unknown" in said.result("a")


def test_a_database_of_a_newer_version_releases_nothing(databases: Databases) -> None:
    def newer(connection: Connection) -> None:
        connection.execute(text("UPDATE toolgate_schema SET version = 2"))

    first = databases.ledger()
    first._database.write(newer)
    ran = Recorder()
    with pytest.raises(LedgerSchemaError, match="version 2"):
        talk(ran, databases.ledger(), says(call("read"))).say()
    assert ran.runs == []
