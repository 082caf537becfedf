"""A line that breaks while a ledger speaks: what was done is done once, and what was not known to be done is not."""

from collections.abc import Callable, Iterator

import pytest

from tests.ledger.databases import Databases
from tests.ledger.line import Line
from tests.ui.requests import request
from toolgate_langchain import ApprovalAnswer, SqlLedger
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus
from toolgate_langchain.errors import LedgerError

YES, NO = ApprovalAnswer(type="approve"), ApprovalAnswer(type="reject")


@pytest.fixture
def line(postgresql: Databases) -> Iterator[Line]:
    assert postgresql.postgres is not None
    with Line(postgresql.postgres.socket) as line:
        yield line


@pytest.fixture
def far(postgresql: Databases, line: Line) -> SqlLedger:
    """A ledger at the end of the line."""
    assert postgresql.postgres is not None
    ledger = postgresql.ledger(postgresql.postgres.url(postgresql.name, port=line.port))
    ledger.prepare()
    return ledger


def start(ledger: SqlLedger) -> object:
    return ledger.start(CallStart("r", "d", needs_grant=True, repeatable=False))


class TestTheWordOfACommitIsLost:
    """The database did it, and the ledger asks again: it recognises what it did itself, and nothing is done twice."""

    def test_an_answer_is_recorded_once_and_told_as_recorded(self, far: SqlLedger, line: Line) -> None:
        line.lose_commits = 1
        assert far.answer("r", YES) is AnswerStatus.RECORDED
        line.lose_commits = 1
        assert far.answer("r", NO) is AnswerStatus.WITHDRAWN
        assert far.answer("r", NO) is AnswerStatus.REPEATED
        assert len(far.events()) == 2  # type: ignore[arg-type]

    def test_the_start_is_this_attempts_own(self, far: SqlLedger, line: Line) -> None:
        line.lose_commits = 1
        far.grant("r", "d")
        line.lose_commits = 2
        assert start(far) is StartStatus.STARTED
        assert start(far) is StartStatus.USED
        assert [event.kind for event in far.events()] == ["grant_issued", "start_started", "start_used"]  # type: ignore[union-attr]

    def test_the_first_to_start_is_still_the_first(self, far: SqlLedger, line: Line) -> None:
        line.lose_commits = 1
        assert far.start(CallStart("r", "d", needs_grant=False, repeatable=False)) is StartStatus.STARTED

    def test_a_claim_is_its_own(self, far: SqlLedger, postgresql: Databases, line: Line) -> None:
        line.lose_commits = 1
        assert far.claim("r") is True
        other = postgresql.ledger()
        assert other.claim("r") is False
        line.lose_commits = 1
        far.release("r")
        assert other.claim("r") is True

    def test_counts_and_rules_do_not_count_twice(self, far: SqlLedger, line: Line) -> None:
        line.lose_commits = 1
        far.note_auto_approved("run", "turn")
        line.lose_commits = 1
        far.note_rejected("run", "key", "send", "r")
        memory = far.memory("run")
        assert (memory.auto_approved_turns, memory.rejections) == (1, {"send": 1})  # type: ignore[union-attr]


@pytest.mark.parametrize("message", [b"BEGIN", b"toolgate_grants", b"toolgate_events", b"COMMIT"])
def test_a_line_that_breaks_at_any_statement_is_taken_up_again(far: SqlLedger, line: Line, message: bytes) -> None:
    far.grant("r", "d")
    line.cut_before = message
    assert start(far) is StartStatus.STARTED
    assert line.cut_before == b"", "the line did not break"
    assert start(far) is StartStatus.USED


def test_a_server_that_ends_the_connections_is_met_again(postgresql: Databases) -> None:
    assert postgresql.postgres is not None
    ledger = postgresql.ledger()
    ledger.grant("r", "d")
    postgresql.postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'postgres'"
    )
    assert ledger.status("r") is GrantStatus.ISSUED
    assert start(ledger) is StartStatus.STARTED


def test_where_the_line_stays_down_nothing_happens_and_afterwards_it_goes_on(
    far: SqlLedger, postgresql: Databases, line: Line
) -> None:
    far.answer("r", YES)
    far.grant("r", "d")
    line.down = True
    attempts: list[Callable[[], object]] = [
        lambda: start(far),
        lambda: far.answer("r", NO),
        lambda: far.answer_to("r"),
        far.stopped,
        far.stop,
        lambda: far.memory("run"),
        lambda: far.thread_rules("thread"),
        lambda: far.claim("r"),
        lambda: far.ask(request()),
    ]
    for doing in attempts:
        with pytest.raises(LedgerError, match="nothing is released"):
            doing()
    near = postgresql.ledger()
    assert (near.status("r"), near.answer_to("r"), near.stopped()) == (GrantStatus.ISSUED, YES, False)
    line.down = False
    assert start(far) is StartStatus.STARTED
