"""Denied commands: found wherever a shell would run them, and what is not plain is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.arguments import ArgumentView
from toolgate_langchain.policy.shell_denies import DeniedCommands

POLICY = DeniedCommands("act", "command", ["rm", "curl"])
ENTRY = ToolCatalog.from_tools([Recorder().tool("act", ToolProfile())]).get("act")


def said(command: Any, name: str = "act") -> Verdict:
    assert ENTRY is not None
    return POLICY(ArgumentView(name, {"command": command}, ENTRY, Surface("chat"), None)).verdict


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "/bin/rm x",
        "./rm x",
        "ls; rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm",
        "ls & rm x",
        "ls\nrm x",
        "ls\rrm x",
        "ls\u2028rm x",
        "(rm x)",
        "{ rm x; }",
        "! rm x",
        "time rm x",
        "if rm x; then ls; fi",
        "for i in a; do rm $i; done",
        "f() { rm x; }",
        "echo $(rm x)",
        "echo `rm x`",
        'echo "$(rm x)"',
        "cat <(rm x)",
        "x=$(rm x)",
        "A=1 rm x",
        'r""m x',
        '"rm" x',
        "'rm' x",
        "\\rm x",
        "r\\m x",
        "$'rm' x",
        "sudo rm x",
        "env A=1 rm x",
        "xargs rm",
        "nohup rm x",
        "command rm x",
        "sh -c 'rm x'",
        "bash -lc 'ls; rm x'",
        "env -S 'rm x'",
        "eval rm x",
        "rm",
        "rm > x",
        "true;" * 50 + "curl x",
    ],
)
def test_a_denied_command_is_found_wherever_it_would_run(command: str) -> None:
    assert said(command) is Verdict.DENY
    assert said(command, "other") is Verdict.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "ls > x",
        "ls $x",
        "$x y",
        "ls *.py",
        "python x.py",
        "sudo ls",
        "ls 'a",
        "ls &&& ls",
        "find . -exec r'm' {} \\;",
        "",
        "ls " + "a" * 10_000,
        "ls \u200b",
        5,
        True,
        {"command": "ls"},
    ],
)
def test_what_is_not_plain_is_asked_about(command: Any) -> None:
    assert said(command) is Verdict.ASK


@pytest.mark.parametrize(
    "command",
    [
        "find . -name x -exec rm -f x +",
        "git -c 'alias.x=!rm -rf .' x",
        "git -c core.pager=rm log",
        "tar -cf x --checkpoint=1 --checkpoint-action=exec=rm y",
        "rsync -e 'rm x' a b",
        "man -P rm ls",
        "zip x y -TT rm",
        "npm exec rm x",
        "uv run rm x",
        "pkexec ls",
        "find . -exec sh x +",
    ],
)
def test_a_line_in_which_an_option_may_hold_one_is_asked_about(command: str) -> None:
    assert said(command) is not Verdict.ALLOW


@pytest.mark.parametrize(
    "command", ["ls", "git rm-x", "echo rm", "cat rm.txt", "ls 'rm x'", "rmdir x", "ls | grep curl", None, ["ls", "ls"]]
)
def test_a_plain_line_without_them_is_no_concern_of_the_policy(command: Any) -> None:
    assert said(command) is Verdict.ALLOW


def test_of_several_lines_the_strictest_answer_counts() -> None:
    assert said(["ls"] * 3_000) is Verdict.ALLOW
    assert said(["ls"] * 5_000) is said(["ls -l " + "a" * 6_000] * 3) is Verdict.ASK
    assert said(["ls", "ls > x"]) is Verdict.ASK
    assert said(["ls > x", "rm x", "ls"]) is Verdict.DENY


def test_in_an_agent_it_stands_above_every_approval() -> None:
    recorder = Recorder()
    shell = recorder.tool("act", ToolProfile(tier=Tier.READ_ONLY))
    script = [says(call("act", "c1", command="ls; rm x"), call("act", "c2", command="ls")),
              says(call("act", "c3", command="ls > x")), says(text="done")]  # fmt: skip
    gate = ToolGate(argument_policies=[POLICY], heuristics=[lambda *_: True])
    talk = chat(script, [shell], gate=gate, surface="chat")
    talk.say()
    assert talk.result("c1") == "The call of 'act' was not executed. It is not permitted here."
    assert talk.result("c2") == "ran act"
    assert talk.request.tool_call_id == "c3"


@pytest.mark.parametrize("name", ["", "/bin/rm", "rm x", " ", 5])
def test_a_command_is_denied_by_its_plain_name(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="plain name"):
        DeniedCommands("act", "command", [name])


@pytest.mark.parametrize(
    "command", ["RM x", "/bin/Rm x", "ls; RM x", "sudo RM x", "sh -c 'Rm x'", "x=$(CURL y)", "ls | cURL"]
)
def test_a_denied_command_is_found_in_whatever_case_because_a_file_system_may_have_none(command: str) -> None:
    assert said(command) is Verdict.DENY


def test_a_name_that_was_denied_in_capital_letters_is_found_in_small_ones() -> None:
    assert ENTRY is not None
    view = ArgumentView("act", {"command": "ls | format x"}, ENTRY, Surface("chat"), None)
    assert DeniedCommands("act", "command", ["FORMAT"])(view).verdict is Verdict.DENY
    assert DeniedCommands("act", "command", ["FORMATS"])(view).verdict is Verdict.ALLOW


def test_one_that_an_option_hands_on_in_another_case_is_asked_about() -> None:
    assert said("find . -exec RM x") is Verdict.ASK


@pytest.mark.parametrize(
    "runner",
    [
        "bwrap",
        "perf stat",
        "hyperfine",
        "xvfb-run",
        "mosh h",
        "rsh h",
        "wsl",
        "cmd.exe /c",
        "catchsegv",
        "flatpak-spawn",
    ],
)
def test_a_denied_command_behind_a_runner_is_denied(runner: str) -> None:
    assert said(f"{runner} rm x") is Verdict.DENY


@pytest.mark.parametrize("command", ["Rscript x.R", "R -e 1", "java -jar x", "dotnet x"])
def test_what_runs_a_program_of_its_own_language_is_asked_about(command: str) -> None:
    assert said(command) is Verdict.ASK
