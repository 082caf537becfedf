"""The page on the inbox: its code runs as it stands, and its commands print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.cli.support import here
from tests.support import ScriptedModel, call, says
from tests.ui.terminal import here as at_a_terminal
from toolgate_langchain.cli.inbox import Visit

PAGE = (Path(__file__).parents[2] / "docs" / "inbox.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|console|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
_CHANGES = (
    (r"[0-9a-f]{32}", "ID" * 16),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-02 03:04:05"),
    (r"\d s ago", "0 s ago"),
)


def same(text: str) -> str:
    """A text without what is another one each time, and without blanks at line ends."""
    for pattern, instead in _CHANGES:
        text = re.sub(pattern, instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def run(block: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block, "inbox.md", "exec", dont_inherit=True), names)
    return printed.getvalue()


@pytest.mark.skipif("sys.platform == 'win32'", reason="needs pseudo-terminals")
def test_the_pages_code_runs_and_its_commands_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mail = says(call("send_email", "m", to="ann@example.com", body="Tuesday is fine."))
    names: dict[str, Any] = {"model": ScriptedModel(script=[mail, says(text="done"), mail])}
    names["checkpointer"] = InMemorySaver()
    pause, listing, answering, resume, result, approvers, page = (block for _, block in BLOCKS)
    run(pause, names)
    command, _, shown = listing.partition("\n")
    assert same(here(*command.split()[2:], COLUMNS="120").stdout) == same(shown)
    command, _, shown = answering.partition("\n")
    assert command.split()[-3:] == ["--answer", "--as", "ann"]
    with at_a_terminal([("]: ", "y\n")], columns=100) as (console, stdin, terminal):
        assert Visit(names["ledger"], "ann", console, stdin).run((), answering=True, as_json=False, limit=100) == 0
    dialogue = terminal.text.partition("└")[2].partition("\n")[2]
    assert same(dialogue) == same(shown)
    assert run(resume, names) == result
    assert run(approvers, names) == ""
    assert names["on_duty"](type("Request", (), {"tier": "routine"}), "bob") is True
    names["agent"].invoke({"messages": [("user", "again")]}, {"configurable": {"thread_id": "mail-2"}})
    assert run(page, names).splitlines()[:2] == ["mail-2", "Tool: send_email (consequential, local)"]
    (left,) = names["ledger"].left_answers()
    assert (left.thread_id, left.answer.message) == ("mail-2", "Not on a Friday.")
    names["ledger"].close()


def test_no_status_is_left_out() -> None:
    from typing import get_args

    from toolgate_langchain.hosts.langgraph.resuming import Became

    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(get_args(Became))
