"""`toolgate inbox`: what waits on all threads is listed and answered, with the workers elsewhere or gone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from tests.behaviours.processes import run_child
from tests.cli.support import OFFLINE, environment, here
from tests.forked import Forked
from tests.ui.requests import EXACTLY, request
from tests.ui.terminal import ANSWER, CTRL_C, CTRL_D, HANG_UP, Terminal
from tests.ui.terminal import here as at_a_terminal
from toolgate_langchain import ApprovalAnswer, SqlLedger
from toolgate_langchain.approvals.sql.tables import REQUESTS
from toolgate_langchain.cli.inbox import Visit

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="needs pseudo-terminals")

NOW = datetime.now(UTC)
WORKER = Path(__file__).parents[1] / "ledger" / "children" / "inbox_worker.py"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def ledger(url: str) -> Iterator[SqlLedger]:
    made = SqlLedger(url)
    made.prepare()
    yield made
    made.close()


def ask(ledger: SqlLedger, key: str, thread: str | None = "thread", *, minutes: int = 0, **more: Any) -> None:
    ends = more.pop("expires_at", None)
    ledger.ask(request(request_id=key, **more), thread_id=thread, at=NOW - timedelta(minutes=minutes), expires_at=ends)


def answered(ledger: SqlLedger, key: str) -> ApprovalAnswer | None:
    held: Any = ledger.answer_to(key)
    return held  # type: ignore[no-any-return]


def waiting(ledger: SqlLedger) -> list[str]:
    found: Any = ledger.pending()
    return [one.request.request_id for one in found]


def visit(ledger: SqlLedger, *steps: tuple[str, str], by: str | None = "ann", wanted: Any = ()) -> tuple[int, str]:
    """Answer what waits at a terminal in this process: wait for a text, type, and so on."""
    with at_a_terminal(steps, columns=160) as (console, stdin, terminal):
        code = Visit(ledger, by, console, stdin).run(wanted, answering=True, as_json=False, limit=100)
    return code, terminal.text


# --- listing --------------------------------------------------------------------------------------


def test_what_waits_is_listed_across_threads_oldest_first(ledger: SqlLedger, url: str) -> None:
    ask(ledger, "r2", "two", minutes=30 * 60, tool_name="deploy", caller="ben")
    ask(ledger, "r1", "one", minutes=3 * 24 * 60 + 60, expires_at=NOW + timedelta(days=900))
    done = here("inbox", "--ledger", url)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if "│" in line]
    expires = f"{NOW + timedelta(days=900):%Y-%m-%d %H:%M:%S} UTC"
    assert lines == [
        ["r1", "one", 'send {"to":"ann"}', "routine", "", "3 d ago", expires],
        ["r2", "two", 'deploy {"to":"ann"}', "routine", "ben", "1 d ago", ""],
    ]


def test_in_a_narrow_terminal_the_call_is_still_read(ledger: SqlLedger, url: str) -> None:
    key = "2c7e94f47c22b5bb1b4c7a09e463e8aa"
    ask(ledger, key, "mail-1", minutes=5 * 24 * 60 + 60, tool_name="send_email", tier="consequential")
    out = here("inbox", "--ledger", url, COLUMNS="80").stdout
    assert all(part in out for part in (key[:16], "mail-1", "send_email", '{"to":"ann"}', "consequential", "5 d ago"))
    assert "expires" not in out  # a column that nothing is in


def test_what_nobody_answered_in_time_is_not_listed(ledger: SqlLedger, url: str) -> None:
    ask(ledger, "r1", minutes=5, expires_at=NOW - timedelta(minutes=1))
    assert here("inbox", "--ledger", url).stdout == "Nothing waits for a person.\n"


def test_an_empty_inbox_says_so(ledger: SqlLedger, url: str) -> None:
    assert here("inbox", "--ledger", url).stdout == "Nothing waits for a person.\n"


def test_what_another_program_wrote_cannot_steer_the_terminal(ledger: SqlLedger, url: str) -> None:
    ask(ledger, "r1", "th\x1b[2Jread", tool_name="se\u202end", arguments={"to": "\x1b]8;;x"}, error="a\nb\x07")
    out = here("inbox", "--ledger", url).stdout
    assert "\x1b" not in out and "\u202e" not in out and "\x07" not in out and "th\\x1b[2Jread" in out


def test_json_has_whole_requests_and_the_answers_that_wait(ledger: SqlLedger, url: str) -> None:
    ask(ledger, "r1", arguments={"text": "x" * 500})
    ask(ledger, "r2", "two")
    ledger.leave_answer("r2", ApprovalAnswer(type="approve", by="ann"), digest="d", at=NOW)
    told = json.loads(here("inbox", "--ledger", url, "--json").stdout)
    (one,) = told["pending"]
    assert (one["request_id"], one["thread_id"], one["asked_at"]) == ("r1", "thread", NOW.isoformat())
    assert one["shown"]["action_requests"][0]["args"] == {"text": "x" * 500}
    (left,) = told["answered"]
    assert (left["request_id"], left["thread_id"], left["answer"]["by"]) == ("r2", "two", "ann")
    assert "1 answer waits to be carried into a run" in here("inbox", "--ledger", url).stdout


def test_a_long_list_is_cut_and_says_so(ledger: SqlLedger, url: str) -> None:
    for number in range(3):
        ask(ledger, f"r{number}")
    assert "There is more" in here("inbox", "--ledger", url, "--limit", "2").stdout
    assert "There is more" not in here("inbox", "--ledger", url, "--limit", "3").stdout


def test_one_request_is_found_by_the_beginning_of_its_id_and_one_that_does_not_wait_is_told(
    ledger: SqlLedger, url: str
) -> None:
    for key in ("abc1", "abd2"):
        ask(ledger, key)
    done = here("inbox", "--ledger", url, "abc")
    assert "abc1" in done.stdout and "abd2" not in done.stdout and done.returncode == 0
    for name in ("nope", ""):
        done = here("inbox", "--ledger", url, name)
        assert done.returncode == 1 and f"{name!r} is not pending" in done.stderr


# --- answering ------------------------------------------------------------------------------------


def test_a_person_sees_the_whole_call_with_its_warnings_and_their_yes_is_kept_with_their_name(
    ledger: SqlLedger,
) -> None:
    ask(ledger, "r1", "one", minutes=60, warnings=("it contains hidden characters",))
    code, text = visit(ledger, (ANSWER, "y\n"))
    assert code == 0
    assert "Thread:   one" in text and "(1 h ago)" in text and "Warning:  it contains hidden characters" in text
    assert "Kept. It waits to be carried into its run." in text
    assert answered(ledger, "r1") == ApprovalAnswer(request_id="r1", type="approve", by="ann")
    assert waiting(ledger) == []


@pytest.mark.parametrize(
    ("keys", "kind", "part"),
    [
        ((("]: ", "n not today\n"),), "reject", "not today"),
        ((("]: ", "a\n"),), "approve", "arguments"),
        ((("]: ", "r\n"), ("go back): ", "it is done\n")), "respond", "it is done"),
        ((("]: ", "e\n"), ("go back): ", '{"to": "bob"}\n'), ("[y/n] ", "y\n")), "edit", "bob"),
    ],
)
def test_every_answer_of_the_console_is_possible(ledger: SqlLedger, keys: Any, kind: str, part: str) -> None:
    ask(ledger, "r1", remember=(EXACTLY,))
    assert visit(ledger, *keys)[0] == 0
    held = answered(ledger, "r1")
    assert held is not None and held.type == kind and part in json.dumps(held.to_json())


def test_requests_come_one_after_another_and_what_is_skipped_goes_on_waiting(ledger: SqlLedger) -> None:
    for number in range(3):
        ask(ledger, f"r{number}", minutes=9 - number)
    code, _ = visit(ledger, ("]: ", "s\n"), ("]: ", "y\n"), ("]: ", "n no\n"))
    assert (code, waiting(ledger)) == (0, ["r0"])
    assert [one and one.type for one in (answered(ledger, key) for key in ("r1", "r2"))] == ["approve", "reject"]


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([("]: ", "q\n")], 0),
        ([("]: ", CTRL_D)], 1),
        ([("]: ", HANG_UP)], 1),
        ([("]: ", "n\n"), ("none): ", CTRL_D)], 1),
        ([("]: ", "\n")] * 10, 1),
    ],
    ids=["quit", "end of input", "hang up", "end of input before the reason", "a stuck key"],
)
def test_who_leaves_answers_nothing_neither_yes_nor_no(ledger: SqlLedger, steps: Any, code: int) -> None:
    for key in ("r1", "r2"):
        ask(ledger, key)
    assert visit(ledger, *steps)[0] == code
    assert waiting(ledger) == ["r1", "r2"]


@pytest.mark.parametrize("meanwhile", ["answered", "withdrawn", "expired", "asked about another call"])
def test_an_answer_that_comes_too_late_is_told_so_and_changes_nothing(ledger: SqlLedger, meanwhile: str) -> None:
    ask(ledger, "r1", expires_at=NOW + timedelta(hours=1))
    other = ApprovalAnswer(request_id="r1", type="reject", by="bob")

    class Late(SqlLedger):
        """A ledger in which something happens while the person thinks."""

        def leave_answer(self, request_id: str, answer: ApprovalAnswer, **more: Any) -> Any:
            if meanwhile == "answered":
                ledger.answer("r1", other)
            elif meanwhile == "withdrawn":
                ledger.withdraw(["r1"])
            elif meanwhile == "expired":
                more["at"] = NOW + timedelta(hours=1)
            elif meanwhile == "asked about another call":
                more["digest"] = "of what was shown before"
            return super().leave_answer(request_id, answer, **more)

    late = Late(ledger._database._engine.url)
    code, text = visit(late, ("]: ", "y\n"))
    late.close()
    assert code == 1 and "Too late: " in text and "Nothing changed." in text
    assert answered(ledger, "r1") == (other if meanwhile == "answered" else None)
    assert ("bob answered it meanwhile with 'reject'" in text) is (meanwhile == "answered")


def test_without_a_terminal_it_lists_and_where_an_answer_was_asked_for_that_is_a_failure(
    ledger: SqlLedger, url: str
) -> None:
    ask(ledger, "r1")
    done = here("inbox", "--ledger", url, "--answer")
    assert done.returncode == 1
    assert "r1" in done.stdout and "nobody is there to answer" in done.stderr
    assert waiting(ledger) == ["r1"]


def test_the_processes_that_paused_are_gone_a_person_answers_and_another_process_carries_it_on(
    tmp_path: Path, url: str
) -> None:
    places = {"ledger": url, "checkpoints": str(tmp_path / "checkpoints.db")}
    assert run_child(WORKER, {**places, "say": ["ann", "bob"]}) == {"resumed": [], "ran": []}
    terminal = Terminal(columns=160)
    child = Forked(
        OFFLINE,
        *("inbox", "--ledger", url, "--answer", "--as", "eve"),
        stdin=terminal.slave,
        stdout=terminal.slave,
        stderr=terminal.slave,
        env=environment(),
        session=True,
    )
    terminal.close_slave()
    try:
        terminal.wait_for("Thread:   ann")
        terminal.answer("y")
        terminal.wait_for("Thread:   bob")
        terminal.wait_for("]: ")
        terminal.type(CTRL_C)
        terminal.wait_for("What is left goes on waiting.")
        terminal.read_rest()
        assert child.wait() == 1
    finally:
        if child.running:
            child.kill()
        terminal.close()
    assert run_child(WORKER, places) == {"resumed": [["ann", "resumed"]], "ran": ["ann"]}
    assert run_child(WORKER, places) == {"resumed": [], "ran": []}
    done = here("inbox", "--ledger", url, "--json")
    assert [one["thread_id"] for one in json.loads(done.stdout)["pending"]] == ["bob"]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ledger.db", "this is no URL of a database"),
        ("mysql://root@host/db", "'mysql' is no database that a ledger knows"),
        ("sqlite:///nowhere/ledger.db", "there is no ledger sqlite:///nowhere/ledger.db: no file"),
        ("sqlite://", "a SQLite ledger is a file"),
    ],
)
def test_a_wrong_url_is_one_sentence_and_the_exit_code_of_a_wrong_use(url: str, told: str) -> None:
    done = here("inbox", "--ledger", url)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr and done.stderr.startswith("toolgate: ") and done.stderr.count("\n") == 1
    assert not Path("nowhere").exists()


def test_the_url_may_come_from_the_environment_where_its_password_is_not_shown(ledger: SqlLedger, url: str) -> None:
    assert here("inbox", TOOLGATE_LEDGER=url).returncode == 0
    assert here("inbox").returncode == 2


def test_a_database_of_another_program_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
        connection.commit()
    done = here("inbox", "--ledger", f"sqlite:///{file}")
    assert done.returncode == 2 and "there is no ledger in this database" in done.stderr
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("accounts",)]


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, and longer than the header of one" * 30)
    done = here("inbox", "--ledger", f"sqlite:///{file}")
    assert done.returncode == 1 and "file is not a database" in done.stderr


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = here("inbox", "--ledger", "postgresql://user:secret@127.0.0.1:1/db")
    assert done.returncode == 2
    assert "toolgate-langchain[postgresql]" in done.stderr and "secret" not in done.stderr


def test_what_a_newer_version_asked_is_told(ledger: SqlLedger, url: str) -> None:
    ask(ledger, "r1")

    def newer(connection: Connection) -> None:
        shown = {**request().to_interrupt(), "toolgate": {"v": 9}}
        connection.execute(update(REQUESTS).values(shown=json.dumps(shown)))

    ledger._database.write(newer)
    done = here("inbox", "--ledger", url)
    assert done.returncode == 1 and "the request has format 9" in done.stderr


@pytest.mark.parametrize("name", ["", " ann", "an\u200bn", "\x1b[2J"])
def test_a_name_that_cannot_be_read_is_refused(ledger: SqlLedger, url: str, name: str) -> None:
    done = here("inbox", "--ledger", url, "--as", name)
    assert done.returncode == 2 and "without hidden characters" in " ".join(done.stderr.split())


def test_json_and_answering_do_not_go_together(ledger: SqlLedger, url: str) -> None:
    assert here("inbox", "--ledger", url, "--json", "--answer").returncode == 2
