"""Which databases a ledger takes, and what is said of those that it cannot use: clear, and without their passwords."""

import sqlite3
import subprocess
import sys
import traceback
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from tests.ledger.databases import PASSWORD, Databases
from tests.ledger.line import Line
from toolgate_langchain import ApprovalAnswer, SqlLedger
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, StartStatus
from toolgate_langchain.approvals.sql import schema
from toolgate_langchain.errors import ConfigurationError, LedgerError, LedgerSchemaError, MissingExtraError

YES = ApprovalAnswer(type="approve")


@pytest.fixture
def ready() -> bool:
    """No database is a ledger before."""
    return False


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("ledger.db", "no URL of a database"),
            (f"postgresql://ann:{PASSWORD}@host:port/db", "no URL of a database"),
            (f"mysql://ann:{PASSWORD}@host/db", "'mysql' is no database that a ledger knows"),
            (f"postgresql+asyncpg://ann:{PASSWORD}@host/db", "'postgresql.asyncpg' is no database"),
            (f"postgresql://ann:a@{PASSWORD}@host/db", 'more than one "@"'),
            ("sqlite://", "use InMemoryLedger"),
            ("sqlite:///:memory:", "use InMemoryLedger"),
        ],
    )
    def test_a_wrong_url_is_a_clear_error_that_does_not_repeat_it(self, url: str, told: str) -> None:
        with pytest.raises(ConfigurationError, match=told) as raised:
            SqlLedger(url)
        assert PASSWORD not in "".join(traceback.format_exception(raised.value))

    def test_a_ledger_is_shown_without_its_password(self) -> None:
        ledger = SqlLedger(f"postgresql://ann:{PASSWORD}@host:5433/db?password={PASSWORD}&application_name=x")
        assert repr(ledger) == "SqlLedger('postgresql://host:5433/db')"

    def test_a_lease_that_ends_before_it_begins_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="lease must be longer than nothing"):
            SqlLedger("sqlite:///x.db", lease=timedelta(0))

    def test_a_missing_driver_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(MissingExtraError, match=r"toolgate-langchain\[postgresql\]"):
            SqlLedger("postgresql://host/db")

    def test_missing_sqlalchemy_names_the_extra(self) -> None:
        code = "import sys; sys.modules['sqlalchemy'] = None; from toolgate_langchain import SqlLedger"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        assert "toolgate-langchain[sql]" in done.stderr


class TestUnusable:
    def test_a_server_that_is_away_is_tried_again_with_random_waits_and_an_end(self, postgresql: Databases) -> None:
        assert postgresql.postgres is not None
        waits: list[float] = []
        with Line(postgresql.postgres.socket) as line:
            line.down = True
            url = postgresql.postgres.url(postgresql.name, port=line.port)
            ledger = postgresql.ledger(url, sleep=waits.append)
            with pytest.raises(LedgerError, match=f"127.0.0.1:{line.port}/postgres cannot be used") as raised:
                ledger.stopped()
        assert PASSWORD not in "".join(traceback.format_exception(raised.value))
        assert len(waits) == 7
        assert len(set(waits)) > 1 and all(0 <= wait <= 2 for wait in waits)

    def test_a_folder_that_is_not_there(self, sqlite: Databases, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="unable to open database file"):
            sqlite.ledger(f"sqlite:///{tmp_path}/none/ledger.db").stopped()

    def test_a_file_that_is_no_database_stays_as_it_is(self, sqlite: Databases, tmp_path: Path) -> None:
        file = tmp_path / "letter.txt"
        file.write_text("Dear Ann, " * 1_000)
        with pytest.raises(LedgerError, match="file is not a database"):
            sqlite.ledger(f"sqlite:///{file}").claim("r")
        assert file.read_text() == "Dear Ann, " * 1_000

    def test_a_full_disk_keeps_what_was_said_before(self, sqlite: Databases) -> None:
        ledger = sqlite.ledger()
        ledger.answer("before", YES)
        with ledger._database._engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        too_long = ApprovalAnswer(type="respond", message="x" * 1_000_000)
        with pytest.raises(LedgerError, match="database or disk is full"):
            ledger.answer("r", too_long)
        assert (ledger.answer_to("r"), ledger.answer_to("before")) == (None, YES)

    def test_a_locked_file_is_tried_again_and_is_then_an_error(self, sqlite: Databases, tmp_path: Path) -> None:
        waits: list[float] = []
        ledger = sqlite.ledger(sqlite.url.replace("timeout=0.2", "timeout=0.001"), sleep=waits.append)
        ledger.prepare()
        other = sqlite3.connect(tmp_path / f"{sqlite.name}.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="database is locked"):
            ledger.start(CallStart("r", "digest", needs_grant=False, repeatable=False))
        assert len(waits) == 7
        other.execute("ROLLBACK")
        other.close()
        assert ledger.status("r") is None

    def test_a_row_that_another_worker_does_not_let_go_is_tried_again_and_is_then_an_error(
        self, postgresql: Databases
    ) -> None:
        assert postgresql.postgres is not None
        waits: list[float] = []
        impatient = postgresql.url.replace("options=", "options=-clock_timeout%3D20ms%20")
        ledger = postgresql.ledger(impatient, sleep=waits.append)
        ledger.grant("r", "d")
        with postgresql.postgres.connect() as other, other.transaction():
            other.execute(f"SELECT * FROM {postgresql.name}.toolgate_grants FOR UPDATE".encode())
            with pytest.raises(LedgerError, match="LockNotAvailable"):
                ledger.start(CallStart("r", "d", needs_grant=True, repeatable=False))
            assert len(waits) == 7
        assert ledger.start(CallStart("r", "d", needs_grant=True, repeatable=False)) is StartStatus.STARTED

    def test_nobody_waits_or_holds_for_ever(self, postgresql: Databases) -> None:
        def settings(connection: Connection) -> list[str]:
            names = ("lock_timeout", "idle_in_transaction_session_timeout")
            return [str(connection.execute(text(f"SHOW {name}")).scalar()) for name in names]

        assert postgresql.ledger()._database.write(settings) == ["5s", "30s"]


def _execute(ledger: SqlLedger, statement: str) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text(statement))

    ledger._database.write(work)


_VERSION_TABLE, _VERSION_ROW = "CREATE TABLE toolgate_schema", "INSERT INTO toolgate_schema VALUES"


class TestVersions:
    def test_a_newer_schema_is_refused_with_both_versions(self, databases: Databases) -> None:
        _execute(databases.ledger(), "UPDATE toolgate_schema SET version = 7")
        ledger = databases.ledger()
        with pytest.raises(LedgerSchemaError, match=r"has schema version 7, and this .* knows version 1"):
            ledger.claim("r")
        with pytest.raises(LedgerSchemaError):
            ledger.stopped()

    def test_an_older_schema_is_brought_up_to_date_and_keeps_what_it_holds(
        self, databases: Databases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        databases.ledger().answer("r", YES)

        def later(connection: Connection) -> None:
            connection.execute(text("ALTER TABLE toolgate_answers ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'"))

        monkeypatch.setattr(schema.migrate, "__defaults__", ((*schema.STEPS, later),))
        newer = databases.ledger()
        assert newer.answer_to("r") == YES
        assert newer.answer("r", YES) is AnswerStatus.REPEATED
        _execute(newer, "UPDATE toolgate_answers SET mood = 'brave'")
        monkeypatch.undo()
        with pytest.raises(LedgerSchemaError, match=r"version 2, and this .* version 1"):
            databases.ledger().stopped()

    def test_a_migration_that_fails_leaves_the_database_as_it_was(
        self, databases: Databases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        databases.ledger().answer("r", YES)

        def later(connection: Connection) -> None:
            connection.execute(text("ALTER TABLE toolgate_answers ADD COLUMN mood TEXT"))
            connection.execute(text("SELECT mood FROM nowhere"))

        monkeypatch.setattr(schema.migrate, "__defaults__", ((*schema.STEPS, later),))
        with pytest.raises(LedgerError, match="nowhere"):
            databases.ledger().stopped()
        monkeypatch.undo()
        with pytest.raises(LedgerError, match="mood"):
            _execute(databases.ledger(), "UPDATE toolgate_answers SET mood = 'brave'")
        assert databases.ledger().answer_to("r") == YES

    @pytest.mark.parametrize(
        ("statement", "told"),
        [
            (
                f"{_VERSION_TABLE} (version TEXT); {_VERSION_ROW} ('x')",
                "toolgate_schema .*holds 'x', which is no version",
            ),
            (
                f"{_VERSION_TABLE} (version TEXT); {_VERSION_ROW} ('1')",
                "toolgate_schema .*holds '1', which is no version",
            ),
            (
                f"{_VERSION_TABLE} (version TEXT); {_VERSION_ROW} ('{'x' * 500}')",
                r"holds 'x{39}\.\.\., which is no ver",
            ),
            (f"{_VERSION_TABLE} (version INTEGER); {_VERSION_ROW} (NULL)", "holds None, which is no version"),
            (f"{_VERSION_TABLE} (version INTEGER); {_VERSION_ROW} (-1)", "holds -1, which is no version"),
            (f"{_VERSION_TABLE} (version INTEGER); {_VERSION_ROW} (1)", "says version 1, and none of a ledger's other"),
            (
                f"{_VERSION_TABLE} (version INTEGER); {_VERSION_ROW} (0); CREATE TABLE toolgate_grants (id INTEGER)",
                r"not a ledger's \(toolgate_grants\)",
            ),
            ("CREATE TABLE toolgate_answers (id INTEGER)", r"not a ledger's \(toolgate_answers\)"),
            ("CREATE TABLE toolgate_schema (version INTEGER, product TEXT)", "toolgate_schema of this database is not"),
            ("CREATE TABLE toolgate_schema (version INTEGER)", "must hold one version and holds 0"),
        ],
    )
    def test_a_database_of_another_program_is_refused(self, databases: Databases, statement: str, told: str) -> None:
        def of_another(connection: Connection) -> None:
            for one in statement.split("; "):
                connection.execute(text(one))

        other = databases.ledger()
        other._database._transaction(of_another)
        with pytest.raises(LedgerSchemaError, match=told):
            databases.ledger().claim("r")
        with pytest.raises(LedgerSchemaError, match=told):
            databases.ledger().stopped()

    def test_tables_of_others_beside_a_ledgers_are_left_alone(self, databases: Databases) -> None:
        def beside(connection: Connection) -> None:
            connection.execute(text("CREATE TABLE checkpoints (id INTEGER)"))

        other = databases.ledger()
        other._database._transaction(beside)
        assert databases.ledger().claim("r") is True
