"""The README's code runs as it stands, and prints what it says it prints."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.support import ScriptedModel, call, says

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_readmes_code_runs_and_prints_what_it_shows() -> None:
    mail = says(call("send_email", "m", to="ann@example.com", body="Tuesday is fine."))
    names: dict[str, Any] = {"model": ScriptedModel(script=[mail, says(text="I did not."), mail])}
    printed: list[str] = []
    for kind, block in BLOCKS:
        if kind == "python":
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(block, "README.md", "exec"), names)
            printed.append(output.getvalue().strip())
        elif printed and printed[-1]:
            assert printed.pop() == block.strip()
    assert [text for text in printed if text] == []
    # Nobody was at the terminal, so the first mail was refused; the second was approved by its answer.
    results = [m for m in names["agent"].get_state(names["config"]).values["messages"] if m.type == "tool"]
    assert [result.status for result in results] == ["error", "success"]


def test_the_unattended_line_says_what_it_gives() -> None:
    code, said = re.findall(r"^gate\.(unattended\(.*\))  # (\[.*\])$", README, re.MULTILINE)[0]
    from tests.support import Recorder
    from toolgate_langchain import Tier, ToolCatalog, ToolGate, ToolProfile

    ran = Recorder()
    read = ran.tool("read_inbox", ToolProfile(tier=Tier.READ_ONLY))
    send = ran.tool("send_email", ToolProfile(tier=Tier.CONSEQUENTIAL))
    gate = ToolGate(ToolCatalog.from_tools([read, send]))
    assert eval(f"gate.{code}", {"gate": gate}) == eval(said)
