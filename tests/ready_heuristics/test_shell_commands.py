"""Shell commands by their words: every part must be allowed, and what is not plain is left to a person."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ready_heuristics.asking import says_yes
from toolgate_langchain.approvals.ready_heuristics import AllowedCommand, ShellCommands
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.shell import UnreadableCommandError, plain_commands

SHELL = ShellCommands(
    "act",
    "command",
    [
        AllowedCommand("git log", options={"--oneline", "-n", "--max-count=", "--"}, operands=True),
        "git status",
        AllowedCommand("ls", options={"-l", "-a"}, operands=True),
        AllowedCommand("head", options={"-5"}),
        AllowedCommand("cat", operands=True),
        "true",
    ],
)


@pytest.mark.parametrize(
    "command",
    [
        "git log",
        "  git   log  ",
        "git log --oneline -n 5 src/app.py",
        "git log --max-count=5 -- 'a file'",
        'git log --oneline "a b"',
        "git status",
        "ls -l docs | head -5",
        "ls && git status ; git log || true",
        "cat a.txt b-2.txt ./c @d",
        "cat 'it; rm x' \"and && more\"",
        "git log;",
        "head",
    ],
)
def test_a_line_of_allowed_commands_is_approved(command: str) -> None:
    assert says_yes(SHELL, command=command)


@pytest.mark.parametrize(
    "command",
    [
        "git status src",
        "git push",
        "git",
        "git log -p",
        "git log --max-count",
        "git log --max-count= --output=x",
        "git log +x",
        "git log a=b",
        "git -c core.pager=x log",
        "head -5 file",
        "ls -la",
        "LS",
        "ls | wc",
        "ls | tee x",
        "cat ''",
        "cat -",
        "cat --x",
    ],
)
def test_a_word_that_is_not_allowed_is_left_to_a_person(command: str) -> None:
    assert not says_yes(SHELL, command=command)


@pytest.mark.parametrize(
    "command",
    [
        "ls > x",
        "ls 2>&1",
        "ls < x",
        "ls >> x",
        "cat <<< x",
        "cat << x\nx",
        "ls &",
        "ls |& cat",
        "ls & ls",
        "cat $x",
        "cat ${x}",
        "cat $(ls)",
        "cat `ls`",
        "cat <(ls)",
        'cat "$x"',
        'cat "`ls`"',
        "cat $'a'",
        'cat $"a"',
        "cat *",
        "cat ?",
        "cat [a]",
        "cat {a,b}",
        "cat ~",
        "cat ~/x",
        "cat a\\ b",
        "cat !x",
        'cat "!x"',
        "cat ^a",
        "cat %1",
        "cat =ls",
        "cat a#b",
        "ls # x",
        "A=1 ls",
        "A=1",
        "! ls",
        "(ls)",
        "{ ls; }",
        "time ls",
        "if ls; then ls; fi",
        "for i in a; do ls; done",
        "ls() { cat x; }",
        "[ -f x ]",
        "[[ x ]]",
        "((1))",
        "coproc ls",
        "ls\nls",
        "ls\rls",
        "ls\tx",
        "ls\x0bx",
        "ls\u2028x",
        "ls\u00a0x",
        "ls \u200bx",
        "l\u0455",
        '"ls"',
        "'ls'",
        "l's'",
        "cat a'b'",
        "./ls",
        "/bin/ls",
        "ls;;",
        "ls ; ; ls",
        "&& ls",
        "ls &&",
        "ls &&& ls",
        "ls | | ls",
        "cat 'a",
        'cat "a',
        "",
        " ",
        ";",
        "\0",
        "ls \x1b[2K",
    ],
)
def test_what_is_not_plain_is_left_to_a_person(command: str) -> None:
    assert not says_yes(SHELL, command=command)


@pytest.mark.parametrize("value", [None, True, 5, ["ls"], {"command": "ls"}, {}, "ls " + "a" * 10_000, "\ud800"])
def test_anything_but_a_short_text_is_left_to_a_person(value: Any) -> None:
    assert not says_yes(SHELL, command=value)
    assert says_yes(SHELL, command="ls " + "a" * 9_000)


@pytest.mark.parametrize(
    "words",
    [
        "sh -c",
        "bash",
        "python -c",
        "python3.12",
        "env",
        "xargs",
        "sudo ls",
        "awk",
        "sed",
        "nohup",
        "ssh host",
        "make",
        "time",
    ],
)
def test_a_command_that_runs_other_commands_cannot_be_allowed(words: str) -> None:
    with pytest.raises(ConfigurationError, match="runs other commands"):
        AllowedCommand(words)


@pytest.mark.parametrize("words", ["", " ", "./ls", "/bin/ls", "-x", "ls  -l", "$x", "a;b", " ls"])
def test_a_command_is_allowed_by_its_plain_name(words: str) -> None:
    with pytest.raises(ConfigurationError, match="plain name"):
        AllowedCommand(words)


def test_lists_are_lists() -> None:
    with pytest.raises(ConfigurationError, match="options is the text"):
        AllowedCommand("ls", options="-l")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="allowed is the text"):
        ShellCommands("act", "command", "ls")


WORDS = st.text("abz019_./-", min_size=1, max_size=6)
PIECES = st.sampled_from(
    [
        *"abc;|&<>()$`'\"\\ \n\r\t*?[]{}~!#=%^",
        "&&",
        "||",
        "$(",
        "git log",
        "ls",
        "rm",
        "-x",
        "A=1 ",
        "\u200b",
        "\x00",
        "cat a",
    ]
)


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from([" | ", ";", " && ", "||"]),
)
def test_plain_words_are_read_as_they_are_written(commands: list[list[str]], operator: str) -> None:
    """The reference writes the line itself, and so knows its words."""
    named = [["c" + words[0].lstrip("-"), *words[1:]] for words in commands]
    line = operator.join(" ".join(words) for words in named)
    assert plain_commands(line) == tuple(map(tuple, named))


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_is_plain_reads_the_same_to_a_naive_reader(line: str) -> None:
    """The reference takes quoted parts out, and then finds nothing but letters, blanks and four operators."""
    try:
        commands = plain_commands(line)
    except UnreadableCommandError:
        return
    assert flat(commands) == naive_words(line)


def flat(commands: Sequence[Sequence[str]]) -> list[str]:
    return [word for command in commands for word in command]


def naive_words(line: str) -> list[str]:
    parts, quote, word, words, begun = iter(line), "", "", [], False
    for one in parts:
        if quote:
            begun = True
            if one == quote:
                quote = ""
            else:
                assert quote == "'" or one not in "$`\\!"
                word += one
        elif one in "'\"":
            quote = one
        elif one in " ;|&":
            if word or begun:
                words.append(word)
            word, begun = "", False
        else:
            assert one.isascii() and (one.isalnum() or one in "_./@+:,-=%")
            word += one
    assert not quote
    return [*words, word] if word or begun else words


def test_the_two_readers_are_really_two() -> None:
    """A quoted operator is where they differ; the line is then left to a person."""
    assert shlex.split("cat '|'") == ["cat", "|"]
    assert not says_yes(SHELL, command="cat '|'")
    assert says_yes(SHELL, command="cat 'a|b'")
