"""`toolgate demo` as a user runs it: real tools, recorded words, no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.support import OFFLINE, environment, here, rows, started, toolgate
from tests.forked import ROOT, Forked

PERSON = "person (script)"


def test_read_only_calls_run_others_are_asked_about_a_no_does_not_run_and_always_is_honoured() -> None:
    done = started("demo", "--answers", "always,reject,approve")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done.stdout) == [
        ("list_files", "allow", "approval rule"),
        ("read_file", "allow", "approval rule"),
        ("write_file", "allow", PERSON),
        ("delete_file", "deny", PERSON),
        ("write_file", "allow", "standing allows"),
        ("delete_file", "allow", PERSON),
    ]
    assert done.stdout.count("Approval needed") == 3
    assert "In the folder now: draft.txt, report.txt, summary.txt" in done.stdout


def test_the_words_that_ci_gives_answer_every_question() -> None:
    (line,) = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("demo_answers=")]
    words = line.partition("=")[2].strip('"')
    done = here("demo", "--answers", words)
    assert done.returncode == 0
    assert done.stdout.count("Approval needed") == len(words.split(","))
    assert "no more answers" not in done.stdout


@pytest.mark.parametrize(
    ("answers", "folder"),
    [
        ("approve,approve,approve,approve", "report.txt, summary.txt"),
        ("reject,reject,reject,reject", "draft.txt, report.txt, todo.txt"),
        ("always-tool,always,always", "report.txt, summary.txt"),
        ("reject,always,approve,reject", "report.txt, summary.txt, todo.txt"),
    ],
)
def test_whatever_yes_and_no_is_said_the_folder_holds_what_was_allowed(answers: str, folder: str) -> None:
    done = here("demo", "--answers", answers)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"In the folder now: {folder}\n" in done.stdout


def test_without_a_terminal_and_without_answers_nobody_is_said_to_have_refused_and_the_demo_ends_cleanly() -> None:
    done = toolgate("demo")
    assert done.returncode == 0
    assert rows(done.stdout) == [
        ("list_files", "allow", "approval rule"),
        ("read_file", "allow", "approval rule"),
        ("write_file", "deny", "nobody"),
        ("delete_file", "deny", "nobody"),
        ("write_file", "deny", "nobody"),
        ("delete_file", "deny", "nobody"),
    ]
    told = "does not run: nobody was there to ask: input or output is not a terminal"
    assert done.stdout.count(told) == 4
    assert "a person rejected it" not in done.stdout
    assert "nobody is there" in done.stderr
    assert "In the folder now: draft.txt, report.txt, todo.txt" in done.stdout


@pytest.mark.parametrize(
    "answer", ["reject:not that one, please", 'edit:{"name": "a.txt", "text": "b"}', "respond:done"]
)
def test_an_answer_that_was_not_recorded_is_said_plainly_with_the_way_on_and_the_summary(answer: str) -> None:
    done = here("demo", "--answers", f"{answer},approve")
    assert (done.returncode, done.stderr) == (1, "")
    assert "was not recorded" in done.stdout and "--base-url" in done.stdout
    assert [row[0] for row in rows(done.stdout)] == ["list_files", "read_file", "write_file"]
    assert "In the folder now:" in done.stdout


def test_settings_for_proxies_keys_and_other_addresses_change_nothing_in_a_recorded_demo() -> None:
    proxy = "socks5://127.0.0.1:1"
    done = here(
        "demo", "--answers", "always,reject,approve", ALL_PROXY=proxy, HTTP_PROXY=proxy, HTTPS_PROXY=proxy,
        OPENAI_API_KEY="sk-mine", OPENAI_BASE_URL="http://other.invalid", OPENAI_API_BASE="http://other.invalid",
        OPENAI_ORG_ID="mine",
    )  # fmt: skip
    assert done.returncode == 0
    assert "sk-mine" not in done.stdout


def test_an_address_that_does_not_answer_is_an_error_with_the_summary() -> None:
    done = here("demo", "--base-url", "http://127.0.0.1:9/v1", "--model", "mine", "--answers", "approve")
    assert done.returncode == 1
    assert "mine speaks, at http://127.0.0.1:9/v1" in done.stdout
    assert "The model gave no reply" in done.stdout and "no tool calls" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--answers", "approve,yes"), "'approve,yes'"),
        (("--answers", ""), "allowed: approve"),
        (("--model", "mine"), "--model needs --base-url"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_a_wrong_option_is_named_and_nothing_starts(arguments: tuple[str, ...], says: str) -> None:
    done = here("demo", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "User:" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
def test_a_person_at_a_terminal_answers_key_by_key(tmp_path: Path) -> None:
    terminal, slave = os.openpty()
    child = Forked(
        OFFLINE,
        "demo",
        env=environment(TERM="dumb"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=tmp_path,
        session=True,
    )
    os.close(slave)
    shown, typed = "", 0
    keys = [b"a\n", b"n\n", b"\n", b"y\n"]
    prompts = ["Your answer", "Your answer", "Reason", "Your answer"]
    since = 0
    while True:
        try:
            more = os.read(terminal, 65_536)
        except OSError:
            break  # Linux reports the closed end of a terminal like this
        if not more:
            break
        shown += more.decode(errors="replace")
        if typed < len(keys) and prompts[typed] in shown[since:] and shown.endswith(" "):
            os.write(terminal, keys[typed])
            typed, since = typed + 1, len(shown)
    os.close(terminal)
    assert child.wait() == 0, shown
    assert typed == len(keys)
    assert "In the folder now: draft.txt, report.txt, summary.txt" in shown
