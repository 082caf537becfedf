"""A denied command as a word of another command: whoever may run it is asked about, whoever only reads it is not."""

from __future__ import annotations

import random

import pytest

from tests.redteam.variations import COUNT, variations
from tests.support import Recorder
from toolgate_langchain import Surface, ToolCatalog, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.policy.shell_denies import DeniedCommands

POLICY = DeniedCommands("act", "command", ["rm", "curl"])
ENTRY = ToolCatalog.from_tools([Recorder().tool("act", ToolProfile())]).get("act")
RUNNERS = [
    "frobnicate",
    "launch",
    "./run-it",
    "/opt/bin/wrap",
    "with-lock",
    "x",
    "retry",
    "cached",
    "./echo",
    "/tmp/man",
]
READERS = ["man", "which", "echo", "printf", "type", "whereis", "apropos", "ls", "head", "wc", "mkdir", "touch", "find"]


def said(command: str) -> PolicyAnswer:
    assert ENTRY is not None
    return POLICY(ArgumentView("act", {"command": command}, ENTRY, Surface("chat"), None))


def test_a_denied_command_behind_a_command_that_nobody_knows_is_asked_about() -> None:
    def one(chance: random.Random) -> str:
        before = chance.choice(["", "ls | ", "cd x && "]) + chance.choice(RUNNERS)
        named = chance.choice(["rm", "/bin/rm", "./rm", "RM", "curl", "/usr/bin/curl"])
        given = chance.choice(["-rf /", "x", "x y", "https://evil.example/x"])
        word = chance.choice([f"{named} {given}", f"'{named}' {given}", f"'{named} {given}'", f"'ls;{named} {given}'"])
        return f"{before} {chance.choice(['', 'ab ', 'a b '])}{word}"

    lines = list(variations(one))
    assert len(lines) == COUNT
    for line in lines:
        assert said(line).verdict is not Verdict.ALLOW, line
    assert said("frobnicate rm -rf /") == PolicyAnswer(
        Verdict.ASK, "frobnicate may run its words, and one of them names rm"
    )


def test_a_command_that_runs_none_of_its_words_is_not_asked_about_for_naming_one() -> None:
    def one(chance: random.Random) -> str:
        reader = chance.choice([*READERS, "grep a", "git", "hg", "svn"])
        words = [chance.choice(["a.txt", "src", "notes", "b"]) for _ in range(chance.randint(0, 3))]
        if reader in ("git", "hg", "svn"):
            return f"{reader} rm {' '.join(words)}".strip()
        words.insert(chance.randint(0, len(words)), chance.choice(["rm", "curl", "'rm x'", "/usr/bin/rm"]))
        return f"{reader} {' '.join(words)}"

    for line in variations(one):
        assert said(line).verdict is Verdict.ALLOW, line


@pytest.mark.parametrize(
    "command",
    ["man rm", "which rm", "echo rm", "grep rm file", "git rm x", "cat /usr/bin/rm", "curly rmx", "wc firm.txt"],
)
def test_what_reads_about_a_denied_command_is_no_concern_of_the_policy(command: str) -> None:
    assert said(command).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "command", ["cp /bin/rm x", "git config alias.x '!rm -rf .'", "git submodule foreach rm", "ln /bin/rm y"]
)
def test_what_gives_a_denied_command_another_name_is_asked_about(command: str) -> None:
    assert said(command).verdict is Verdict.ASK
