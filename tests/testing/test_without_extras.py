"""The model needs langchain-core alone; the red team says which extra brings what it needs."""

from __future__ import annotations

import subprocess
import sys

MODEL = """
from toolgate_langchain.testing import ScriptedModel, call, says
model = ScriptedModel(script=[says(call("look", x=1))])
said = model.invoke("x")
assert (said.tool_calls[0]["name"], said.tool_calls[0]["args"]) == ("look", {"x": 1})
assert (model.invoke("y").content, [len(seen) for seen in model.seen]) == ("done", [1, 1])
"""

RED_TEAM = """
from toolgate_langchain import ToolGate
from toolgate_langchain.errors import MissingExtraError
from toolgate_langchain.testing import red_team
try:
    red_team(ToolGate)
except MissingExtraError as error:
    assert "toolgate-langchain[agents]" in str(error), error
else:
    raise AssertionError("it ran without LangGraph")
"""


def without_agents(code: str) -> None:
    block = "import sys; sys.modules['langchain'] = sys.modules['langgraph'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", block + code], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_scripted_model_needs_langchain_core_alone() -> None:
    without_agents(MODEL)


def test_the_red_team_names_the_extra_that_it_needs() -> None:
    without_agents(RED_TEAM)
