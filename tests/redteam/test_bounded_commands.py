"""A command line that the grammar cannot read costs no more time than one that it can."""

from __future__ import annotations

from typing import Any

import pytest

from tests.redteam.test_bounded_time import Within
from tests.support import Recorder
from toolgate_langchain import Surface, ToolCatalog, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import ArgumentView
from toolgate_langchain.policy.shell import MAX_COMMAND, UnreadableCommandError, plain_commands
from toolgate_langchain.policy.shell_denies import DeniedCommands

POLICY = DeniedCommands("act", "command", ["rm"])
ENTRY = ToolCatalog.from_tools([Recorder().tool("act", ToolProfile())]).get("act")

HARD = ["a|", "a=(", "a=(b ", "|", "))", "[f()&&>", "$(]=%donef()", "<<a\n", "esaca@", "~", "f();", "a|&", ">"]


def said(command: Any) -> Verdict:
    assert ENTRY is not None
    return POLICY(ArgumentView("act", {"command": command}, ENTRY, Surface("chat"), None)).verdict


def test_text_that_the_grammar_would_mend_for_seconds_is_asked_about_at_once() -> None:
    lines = [(part * MAX_COMMAND)[:MAX_COMMAND] for part in HARD]
    with Within(3):
        for line in lines:
            assert said(line) is Verdict.ASK
            with pytest.raises(UnreadableCommandError):
                plain_commands(line)


def test_many_such_lines_in_one_call_cost_no_more_than_one() -> None:
    with Within(2):
        assert said([part * (900 // len(part)) for part in HARD for _ in range(50)]) is Verdict.ASK


def test_a_denied_command_behind_such_text_is_denied_all_the_same() -> None:
    assert said("a|" * 2_000 + "rm x") is Verdict.DENY
    assert said("ls;" * 300 + "rm x") is Verdict.DENY


def test_a_long_line_with_few_signs_is_read() -> None:
    assert len(plain_commands("ls;" * 1_000)) == 1_000
    assert said("ls " + "a " * 4_990) is Verdict.ALLOW
