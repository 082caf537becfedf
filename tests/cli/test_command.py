"""The command itself: where it is found, how answers are split, what it says where a library is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.cli.support import environment, toolgate
from tests.forked import ROOT, Forked
from toolgate_langchain.cli import main
from toolgate_langchain.cli.app import split_answers


def test_the_command_toolgate_is_this_one() -> None:
    (found,) = entry_points(group="console_scripts", name="toolgate")
    assert found.load() is main


def test_python_m_runs_it_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolgate_langchain", "--help"],
        cwd=ROOT, env=environment(), capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "demo" in done.stdout and "run" in done.stdout


def test_without_a_command_it_shows_how_it_is_used() -> None:
    done = toolgate()
    assert done.returncode == 2
    assert "Usage: toolgate" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("approve", ["approve"]),
        ("approve, reject ,always", ["approve", "reject", "always"]),
        ("reject:no, not this one,always-tool", ["reject:no, not this one", "always-tool"]),
        ('edit:{"a": 1, "b": [2, 3]},respond:fine, thanks', ['edit:{"a": 1, "b": [2, 3]}', "respond:fine, thanks"]),
        ("approve,yes", ["approve,yes"]),
        ("always,approved", ["always,approved"]),
    ],
)
def test_answers_are_split_where_the_next_one_begins(text: str, words: list[str]) -> None:
    assert split_answers(text) == words


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("typer", ["--help"], "cli"),
        ("langchain_openai", ["demo"], "demo"),
        ("vcr", ["demo"], "demo"),
        ("rich", ["demo"], "console"),
    ],
)
def test_a_missing_library_names_the_extra_that_brings_it(missing: str, arguments: list[str], extra: str) -> None:
    code, (_, errors) = Forked(Path(__file__).parent / "lacking.py", missing, *arguments, env=environment()).ended()
    assert code == 2
    assert f"toolgate-langchain[{extra}]" in errors
    assert "Traceback" not in errors
