"""Approves a command line of which every command is allowed, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.ready_heuristics.base import ArgumentHeuristic
from toolgate_langchain.catalog.checks import listed
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.shell import UnreadableCommandError, parse_command, plain_commands
from toolgate_langchain.policy.shell_runners import runs_other_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["AllowedCommand", "ShellCommands"]

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


@dataclass(frozen=True)
class AllowedCommand:
    """A command that may run without a question: its first words, and what may stand behind them.

    `AllowedCommand("git log", options={"--oneline", "--max-count="}, operands=True)` allows `git log --oneline src`
    and `git log --max-count=5`, but neither `git log -p` nor `git -c x log`.

    Raises:
        ConfigurationError: If a word is not plain, or the command is one that runs other commands, as `sh`,
            `python`, `env` or `xargs`: allowing it allows everything.
    """

    words: str
    """The command and the words that must stand right behind it, with one blank between them."""
    options: frozenset[str] | set[str] = field(default_factory=frozenset)
    """Words that may stand behind them, written exactly so. One that ends in `=` may have anything behind that."""
    operands: bool = False
    """Whether further words are allowed: any that neither begins with `-` or `+` nor has a `=` in it."""

    def __post_init__(self) -> None:
        if not isinstance(self.words, str):
            raise ConfigurationError(f"words is {self.words!r}; it must be a text, as 'git log'")
        name, *_ = words = self.words.split(" ")
        if not _NAME.fullmatch(name) or not all(words):
            raise ConfigurationError(f"{self.words!r} does not begin with the plain name of a command")
        if runs_other_commands(name):
            raise ConfigurationError(f"{name!r} runs other commands; to allow it is to allow all of them")
        if isinstance(self.options, str):
            raise ConfigurationError(f"options is the text {self.options!r}; it must be a set of words")
        if not isinstance(self.options, frozenset | set) or not all(isinstance(one, str) for one in self.options):
            raise ConfigurationError(f"options is {self.options!r}; it must be a set of words")
        if not isinstance(self.operands, bool):
            raise ConfigurationError(f"operands is {self.operands!r}; it must be True or False")

    def allows(self, command: tuple[str, ...]) -> bool:
        """Whether it allows a command with these words."""
        first = tuple(self.words.split(" "))
        return command[: len(first)] == first and all(self._allows_word(word) for word in command[len(first) :])

    def _allows_word(self, word: str) -> bool:
        if word in self.options:
            return not word.endswith("=")
        name, equals, _ = word.partition("=")
        if equals and f"{name}=" in self.options:
            return True
        return self.operands and bool(word) and not equals and word[0] not in "-+"


class ShellCommands(ArgumentHeuristic):
    """Approves a command line in which every command of every pipe and list is allowed.

    A command's name must be written exactly as it is allowed: `./cat` and `/tmp/cat` are not `cat`. Not plain,
    and so left to a person: substitutions, redirections, variables, assignments before a command, expansion of
    file names, braces and `~`, background, groups, loops, backslashes, line breaks, comments, history, quotes in
    the middle of a word, and everything of which two readers do not find the same words.

    It does not protect from what a name means where the command runs: another program of that name in `PATH`, an
    alias or a function, which a shell that stays open keeps; from configuration files that a program reads; from
    what an allowed command does with the files that it is given, `cat` with a secret for one; nor from a shell
    that is no POSIX shell. `DeniedCommands` is its counterpart, an argument policy that refuses.

    Args:
        tool: The name of the tool.
        argument: The argument that is the command line.
        allowed: The commands; a text stands for exactly these words with nothing behind them.
        others: The names of arguments that may have any value. Leave out a working folder or an environment.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        ConfigurationError: If a command cannot be allowed; see `AllowedCommand`.
        MissingExtraError: If tree-sitter is not installed (extra `shell`).
    """

    def __init__(
        self,
        tool: str,
        argument: str,
        allowed: Sequence[AllowedCommand | str],
        *,
        others: Iterable[str] = (),
        origin: str = LOCAL,
    ) -> None:
        super().__init__(tool, argument, others=others, origin=origin)
        commands = [
            AllowedCommand(one) if isinstance(one, str) else one for one in listed("allowed", allowed, of="commands")
        ]
        for one in commands:
            if not isinstance(one, AllowedCommand):
                raise ConfigurationError(f"allowed has {one!r}, which is neither a text nor an AllowedCommand")
        self._allowed = tuple(commands)
        parse_command("true")  # a missing library is told here, and not with the first call

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether every command is allowed."""
        try:
            commands = plain_commands(value) if isinstance(value, str) else ()
        except UnreadableCommandError:
            return False
        return bool(commands) and all(any(one.allows(command) for one in self._allowed) for command in commands)
