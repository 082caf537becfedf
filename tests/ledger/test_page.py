"""The page on ledgers: its code runs as it stands, and does what it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Caller, ToolGateMiddleware

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_pages_code_runs_and_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    begin, switch, users, record = (compile(block, "ledger.md", "exec") for block in BLOCKS)
    exec(begin, names)
    ran = Recorder()
    talk = chat([says(call("send"))], [ran.tool("send")], gate=names["gate"], middleware=[names["middleware"]])
    talk.say()
    exec(switch, names)
    talk.answer()
    assert ran.names == ["send"]
    exec(record, names)
    told = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    of_the_call = ["answered", "grant_issued", "decided", "start_started", "call_finished", "ended"]
    assert [kind for kind in told if kind != "asked"] == ["judged", "stopped", "resumed", *of_the_call]
    everywhere = [ToolGateMiddleware(names["gate"], caller=Caller("ann"))]
    chat([says(call("save"))], [ran.tool("save")], gate=names["gate"], middleware=everywhere).taught(
        {"what": "arguments", "scope": "user"}
    )
    capsys.readouterr()
    exec(users, names)
    assert capsys.readouterr().out.startswith("allow save {} ")
    assert names["gate"].rules() == ()
    assert (tmp_path / "ledger.db").exists()
    names["ledger"].close()
