"""The code of the page on hand-written graphs runs as it stands, and prints what the page shows."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.support import ScriptedModel, call, says

PAGE = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_pages_code_runs_and_prints_what_it_shows() -> None:
    mail = says(call("send_email", "m", to="ann@example.com", body="Tuesday is fine."))
    names: dict[str, Any] = {"model": ScriptedModel(script=[says(call("read_inbox", "r")), mail])}
    printed: list[str] = []
    for kind, block in BLOCKS:
        if kind == "text":
            assert printed.pop() == block.strip()
            continue
        with redirect_stdout(io.StringIO()) as output:
            exec(compile(block, "graphs.md", "exec", dont_inherit=True), names)
        if said := output.getvalue().strip():
            printed.append(said)
    assert printed == []
    assert names["model"].offered == [["read_inbox", "send_email"]] * 3


def test_the_page_names_every_part_and_no_other() -> None:
    from toolgate_langchain.hosts.graphs.graph import GraphGate

    parts = {name for name in vars(GraphGate) if not name.startswith("_")} | {"start", "node"}
    assert {*re.findall(r"guard\.(\w+)", PAGE)} == parts
