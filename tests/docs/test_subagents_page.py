"""The code of the page on subagents runs as it stands, and prints what it says it prints."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.subagents.support import DANGEROUS, answer_all, makes
from tests.support import Chat, Recorder, ScriptedModel, call, says

PAGE = (Path(__file__).parents[2] / "docs" / "subagents.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_pages_code_runs_and_does_what_it_says() -> None:
    ran, moved = Recorder(), Recorder()
    task = call("task", description="go", subagent_type="cleaner")
    model = ScriptedModel(script=[says(call("clean_up", task="go")), says(text="Nothing."), says(task)])
    cleaner = makes(call("delete_file", path="/a"))
    names: dict[str, Any] = {
        "model": model,
        "cleaner_model": cleaner,
        "delete_file": ran.tool("delete_file", DANGEROUS),
        "mover_model": makes(call("move_file", source="a", target="b")),
        "move_file": moved.tool("move_file", DANGEROUS),
        "outer_model": ScriptedModel(script=[says(call("move", task="go"))]),
    }
    printed: list[str] = []
    for kind, block in BLOCKS:
        if kind == "python":
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(block, "subagents.md", "exec"), names)
            printed.append(output.getvalue().strip())
        elif printed and printed[-1]:
            assert printed.pop() == block.strip()
    assert [text for text in printed if text] == []
    assert ran.runs == []
    assert moved.runs == [("move_file", {"source": "a", "target": "b"})]
    talk = Chat(names["deep"], model, names["gate"], "deep")
    talk.say()
    assert answer_all(talk) == ["task", "delete_file"]
    assert ran.runs == [("delete_file", {"path": "/a"})]
