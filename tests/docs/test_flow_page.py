"""The code of the page on what was read before runs as it stands, and gives what the page shows."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from tests.support import ScriptedModel, call, chat, says
from toolgate_langchain import DataClass, FlowPolicy, ToolGate, TrustZone

PAGE = (Path(__file__).parents[2] / "docs" / "flow.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:python|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_mail_that_the_person_wanted_runs_and_the_other_is_asked_about_as_shown() -> None:
    mails = [says(call("send_email", "b", to="bob@example.com", body="Hi")),
             says(call("send_email", "e", to="eve@evil.org", body="The report"))]  # fmt: skip
    names: dict[str, Any] = {"model": ScriptedModel(script=[says(call("read_inbox", "r")), *mails])}
    with redirect_stdout(io.StringIO()) as said:
        exec(compile(BLOCKS[0], "flow.md", "exec", dont_inherit=True), names)
    assert said.getvalue() == BLOCKS[1]
    assert [message.text for message in names["output"]["messages"] if message.type == "tool"][1:] == [
        "sent to bob@example.com"
    ]


def test_the_preview_is_shown_and_holds() -> None:
    names: dict[str, Any] = {"rows": [1, 2, 3]}
    exec("from toolgate_langchain import Tier, tool_profile\nfrom langchain_core.tools import tool", names)
    exec(compile(BLOCKS[3], "flow.md", "exec", dont_inherit=True), names)
    talk = chat([says(call("purge", "a", table="mails")), says(call("purge", "b", table="mails"))], [names["purge"]])
    talk.say()
    assert talk.request.preview == "deletes 3 rows of mails"
    names["rows"].append(4)
    talk.answer("approve")
    assert len(names["rows"]) == 4 and talk.request.preview == "deletes 4 rows of mails"
    talk.answer("approve")
    assert names["rows"] == []


def test_the_class_of_history_from_elsewhere_is_declared_as_shown() -> None:
    names: dict[str, Any] = {"FlowPolicy": FlowPolicy, "DataClass": DataClass}
    exec(compile(BLOCKS[2], "flow.md", "exec", dont_inherit=True), names)
    gate = ToolGate(argument_policies=[names["flow"]])
    said: list[BaseMessage] = [HumanMessage("Hello"), AIMessage("Hello."), HumanMessage("Go on")]
    talk = chat([AIMessage("On.")], [], gate=gate, zone=TrustZone.EXTERNAL_ANYWHERE)
    talk.invoke({"messages": said})
    assert len(talk.model.seen) == 1


def test_no_block_is_left_out() -> None:
    assert len(BLOCKS) == 4
