"""Refuses a command line in which a command stands that is never to run."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.shell import MAX_COMMAND, UnreadableCommandError, effort, parse_command, plain_commands
from toolgate_langchain.policy.shell_operands import may_be_run
from toolgate_langchain.policy.shell_runners import runs_other_commands
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from toolgate_langchain.policy.arguments import ArgumentView

__all__ = ["DeniedCommands"]

_ALLOWED: Final = PolicyAnswer(Verdict.ALLOW)
_WORDS: Final = frozenset({"word", "string", "raw_string", "ansi_c_string", "concatenation", "number", "command_name"})
_BREAKS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""What some reader takes for the end of a line, or of the text. To find a denied command behind it, it is one."""
_SIGNS: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029;|&(){}`<>]|\$(?!')")
_BEFORE: Final = frozenset({"!", "if", "then", "else", "elif", "do", "while", "until", "time", "coproc"})
_RUN: Final = frozenset({"run", "exec", "x", "dlx"})
"""Words behind which `npm`, `uv`, `docker` and their like have a command."""
_ENDS_WORD: Final = re.compile(r"[\s;|&!(){}<>=`'\"]+")
_NO_NAME: Final = re.compile(r"[^\w.+-]+")
_DROPPED: Final = str.maketrans("", "", "'\"\\$")


class DeniedCommands:
    """An argument policy that refuses command lines by the commands in them.

    Denied is a line in which one of the commands is run by its name or by a path that ends in it: alone, in a pipe,
    a list, a group, a loop, a function, a substitution, with assignments before it, with quotes or backslashes in
    its name, or behind a command that runs others, as `sudo`, `env` or `xargs`. Of a line that is not plain also
    quoted text is denied in which one would begin behind a `;` or the like: no reader is trusted to know its quotes.
    Any other line that is not plain, or in which a command runs others, is asked about, and so is one in which the
    name stands in an option or behind one, or is a word of a command that is not known to run none of its words,
    as in `frobnicate rm x`; `man rm`, `echo rm`, `grep rm a` and `git rm a` are known. A variable, a file or another
    program can hold any command.

    It does not protect from the same thing done by another command; from scripts and configuration files; from a
    file that was copied to another name. A list of what is denied is never complete: allow what is needed, and
    let a person see the rest.

    Args:
        tool: The name of the tool.
        argument: The argument that is the command line, or a list of them.
        denied: The names of the commands, in whatever case.

    Raises:
        ConfigurationError: If a name is not the plain name of a command.
        MissingExtraError: If tree-sitter is not installed (extra `shell`).
    """

    __name__ = "denied commands"

    def __init__(self, tool: str, argument: str, denied: Iterable[str]) -> None:
        self._tool, self._argument = tool, argument
        self._denied = frozenset([denied] if isinstance(denied, str) else denied)
        for name in self._denied:
            if not isinstance(name, str) or not name or "/" in name or name.split() != [name]:
                raise ConfigurationError(f"{name!r} is not the plain name of a command")
        # `RM` is `rm` where the file system has no case; nobody here knows on which one the line runs.
        self._denied = frozenset(map(str.casefold, self._denied))
        parse_command("true")  # a missing library is told here, and not with the first call

    def __call__(self, view: ArgumentView) -> PolicyAnswer:
        """Deny a line with a denied command, and ask about one that is not plain."""
        if view.name != self._tool:
            return _ALLOWED
        given = view.arguments.get(self._argument)
        if given is None:
            return _ALLOWED
        answers, left = list[PolicyAnswer](), MAX_COMMAND
        for line in given if isinstance(given, list) else [given]:
            answers.append(
                self._of(line) if left > 0 else PolicyAnswer(Verdict.ASK, "there are more lines than are read")
            )
            left -= effort(line) + 1 if isinstance(line, str) else 1
        return max(answers, key=lambda answer: answer.verdict.rank, default=_ALLOWED)

    def _of(self, line: object) -> PolicyAnswer:
        if not isinstance(line, str):
            return PolicyAnswer(Verdict.ASK, "a command line is not a text")
        # Of a line that is too long to be read the beginning is looked at, so that length hides nothing there.
        readable = _BREAKS.sub("\n", line[:MAX_COMMAND])
        try:
            root = parse_command(readable)
            for words in _commands(root):
                if (found := self._denied_in(words)) is not None:
                    return PolicyAnswer(Verdict.DENY, f"it runs {found}, which is denied")
            commands = plain_commands(line, root if readable == line else None)
        except UnreadableCommandError as error:
            for words in _roughly(line[:MAX_COMMAND]):
                if (found := self._denied_in(words)) is not None:
                    return PolicyAnswer(Verdict.DENY, f"{found}, which is denied, stands where a command may begin")
            return PolicyAnswer(Verdict.ASK, f"the command line is not plain: {error}")
        if any(runs_other_commands(name) for name, *_ in commands):
            return PolicyAnswer(Verdict.ASK, "a command in it runs other commands")
        for _, *words in commands:
            if (found := self._handed_on(words)) is not None:
                return PolicyAnswer(Verdict.ASK, f"a command in it may run what an option says, and that has {found}")
        for command in commands:
            if (found := self._named_in(may_be_run(command))) is not None:
                return PolicyAnswer(Verdict.ASK, f"{command[0]} may run its words, and one of them names {found}")
        return _ALLOWED

    def _handed_on(self, words: list[str]) -> str | None:
        """What a command may be told to run: `find -exec`, `git -c` and others do, and no list of them is complete."""
        behind = False
        for before, word in pairwise(["", *words]):
            behind = behind or before in _RUN or word.startswith("-") or "=" in word
            inside = self._denied.intersection(_NO_NAME.split(word.casefold()))
            if behind and inside:
                return min(inside)
            if (before in _RUN or before.startswith("-")) and word != "." and runs_other_commands(word):
                return word
        return None

    def _named_in(self, words: Iterable[str]) -> str | None:
        """The denied command that one of some words names, by itself or as a word of a command line."""
        named = {part.rpartition("/")[2] for word in words for part in _ENDS_WORD.split(word.casefold())}
        return min(named & self._denied, default=None)

    def _denied_in(self, words: list[str]) -> str | None:
        """The denied command that a command is, or runs."""
        for place, word in enumerate(words):
            name = word.rpartition("/")[2].casefold()
            if name in self._denied:
                return name
            if place == 0 and not runs_other_commands(name):
                return None
            # `sh -c "rm x"`: what runs others may find commands inside of one word.
            inner = {part.rpartition("/")[2] for part in word.casefold().replace(";", " ").replace("|", " ").split()}
            if found := inner & self._denied:
                return min(found)
        return None


def _commands(node: Node) -> Iterator[list[str]]:
    """The words of every command anywhere in a line, also in one with faults; quotes and backslashes are dropped."""
    pending = [node]
    while pending:
        one = pending.pop()
        if one.type == "command":
            yield [_bare(child) for child in one.children if child.type in _WORDS]
        elif one.is_error:
            # What the grammar could not read may hold a command behind any of its words.
            for child in one.children:
                if child.type in _WORDS:
                    yield [_bare(child)]
        pending.extend(one.children)


def _roughly(line: str) -> Iterator[list[str]]:
    """The same without any grammar: what stands behind each sign, in quotes or not, that may end a command."""
    for piece in _SIGNS.split(line):
        words = [word.translate(_DROPPED) for word in piece.split()]
        begin = next((place for place, word in enumerate(words) if "=" not in word and word not in _BEFORE), len(words))
        if words[begin:]:
            yield words[begin:]


def _bare(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace").translate(_DROPPED)
