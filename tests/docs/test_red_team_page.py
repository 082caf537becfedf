"""The page on the red team: its code runs and prints what it says, and it lists every attack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from toolgate_langchain.testing import all_attacks

PATH = Path(__file__).parents[2] / "docs" / "red-team.md"
PAGE = PATH.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_its_code_runs_and_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, "red-team.md", "exec"), names)
        else:
            assert capsys.readouterr().out == block
    assert names["model"].invoke("x").tool_calls[0]["name"] == "read_inbox"
    assert names["test_nothing_gets_past_the_gate"]


def lines() -> str:
    rows = [f"| {one.line} | `{one.name}` | {one.tries} |\n" for one in all_attacks()]
    return "| # | attack | what it tries |\n| --- | --- | --- |\n" + "".join(rows)


def test_it_lists_every_attack_in_its_own_words() -> None:
    found = re.search(r"<!-- lines -->\n(.*?)<!-- /lines -->", PAGE, re.DOTALL)
    assert found is not None
    assert found[1] == lines()


def test_the_gate_of_the_page_lets_nothing_through() -> None:
    """The page's own test, through one host."""
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[0][1], "red-team.md", "exec"), names)
    from toolgate_langchain.testing import all_hosts, red_team

    (host,) = [one for one in all_hosts() if one.name == "GatedAgent" and one.asynchronous]
    report = red_team(names["make_gate"], hosts=[host])
    assert report.ok, report.text()
