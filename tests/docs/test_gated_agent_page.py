"""The page on agents without LangGraph: its code runs, and does what it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import ScriptedModel, call, says

PAGE = (Path(__file__).parents[2] / "docs" / "gated-agent.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
MAIL = says(call("read_inbox", "r"), call("send_email", "m", to="ann", body="Yes."))


def run(block: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(block, "gated-agent.md", "exec"), names)
    return names


def test_an_approved_mail_is_sent_and_the_next_words_start_a_new_run(capsys: pytest.CaptureFixture[str]) -> None:
    names = run(BLOCKS[0], {"model": ScriptedModel(script=[MAIL])})
    said = capsys.readouterr().out
    assert "Tool: send_email (consequential, local)" in said and said.endswith("done\n")
    assert [message.text for message in names["output"]["messages"][2:4]] == [
        "Ann asks: does Tuesday suit you?",
        "sent to ann",
    ]
    again = run(BLOCKS[1], names)["output"]
    assert [message.type for message in again["messages"]] == ["human", "ai", "tool", "tool", "ai", "human", "ai"]


def test_a_signed_session_comes_back_as_text_and_a_rejection_holds() -> None:
    names = run(BLOCKS[0], {"model": ScriptedModel()})
    names["model"] = ScriptedModel(script=[MAIL])
    output = run(BLOCKS[2], names)["output"]
    assert output["request"] is None and output["answer"].status == "accepted"
    assert "rejected" in output["messages"][3].text


def test_no_block_is_left_out() -> None:
    assert len(BLOCKS) == 3
