"""Reading a command line of a POSIX shell, so far as it is plain.

Two readers must find the same words in it: tree-sitter's grammar of bash, of which only a few kinds of parts are
let through, and Python's `shlex`. Whatever a shell would expand, substitute, redirect, assign or treat as a word of
its own is not plain. No reader here runs, expands or looks up anything.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from toolgate_langchain.errors import ToolGateError, needs_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node

__all__ = ["MAX_COMMAND", "UnreadableCommandError", "effort", "parse_command", "plain_commands"]

MAX_COMMAND: Final = 10_000
"""Characters of a command line. Longer ones are not written by hand and not read by anybody who is asked."""

MAX_SIGNS: Final = 1_000
"""Signs in a command line. What the grammar cannot read it tries to mend, which takes the square of their number: a
tenth of a second for so many (`))))...` was the worst that was found), and seconds for ten thousand."""

_SIGN: Final = re.compile(r"[^\w\s./,:-]|\n")
"""Whatever the grammar may take for more than a part of a word."""

_OPERATORS: Final = frozenset({"|", "||", "&&", ";"})
_INNER: Final = frozenset({"program", "list", "pipeline"})
_RESERVED: Final = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("select", "function", "time", "coproc", "{", "}", "!", "[[", "]]", "[", "]"),
    }
)
"""Words that begin something else than a command. `time` and `coproc` do so in bash; the grammar has them as names."""

# In these characters no shell finds anything to expand. A word does not begin with `=` or `%`: zsh and job
# control read those.
_WORD: Final = re.compile(r"[A-Za-z0-9_./@+:,-][A-Za-z0-9_./@+:,=%-]*")
_QUOTED: Final = re.compile(r"[^$`\\!]*")


class UnreadableCommandError(ToolGateError, ValueError):
    """A command line that is not plain: it cannot be read, or a shell makes something else of it."""


def effort(text: str) -> int:
    """What reading a text costs, in the unit of `MAX_COMMAND`: its length, or that of a text with as many signs."""
    return max(len(text), len(_SIGN.findall(text)) * (MAX_COMMAND // MAX_SIGNS))


def plain_commands(text: str, root: Node | None = None) -> tuple[tuple[str, ...], ...]:
    """The words of each command of a plain command line: a list or pipeline of commands with plain words.

    Args:
        text: The command line.
        root: What `parse_command` gave for this very text, where it was asked before.

    Raises:
        UnreadableCommandError: If it is anything else, longer than `MAX_COMMAND`, or has too many signs.
        MissingExtraError: If tree-sitter is not installed (extra `shell`).
    """
    if len(text) > MAX_COMMAND:
        raise UnreadableCommandError(f"it is longer than {MAX_COMMAND:,} characters")
    if not text.isprintable():
        raise UnreadableCommandError("it has a line break, or another character that is not printed")
    root = parse_command(text) if root is None else root
    if root.has_error:
        raise UnreadableCommandError("it cannot be read")
    found = list(_flat(root))
    if found != _split(text):
        raise UnreadableCommandError("two readers find different words in it")
    commands: list[tuple[str, ...]] = []
    words: list[str] = []
    for is_operator, word in [*found, (True, ";")]:
        if not is_operator:
            words.append(word)
        elif words:
            commands.append(tuple(words))
            words = []
    if not commands:
        raise UnreadableCommandError("it has no command")
    return tuple(commands)


def parse_command(text: str) -> Node:
    """What the grammar makes of a command line, faults included.

    Raises:
        UnreadableCommandError: If it has more than `MAX_SIGNS` signs, or is longer than `MAX_COMMAND`.
        MissingExtraError: If tree-sitter is not installed (extra `shell`).
    """
    language = _language()
    if effort(text) > MAX_COMMAND:
        raise UnreadableCommandError(f"it has more than {MAX_SIGNS:,} signs that a shell may read")
    from tree_sitter import Parser

    # A parser of its own: calls are judged in several threads, and a parser belongs to one.
    return Parser(language).parse(text.encode("utf-8", "surrogatepass")).root_node


@lru_cache(maxsize=1)
def _language() -> Language:
    with needs_extra("reading shell commands", "shell"):
        import tree_sitter_bash
        from tree_sitter import Language
    return Language(tree_sitter_bash.language())


def _flat(node: Node) -> Iterator[tuple[bool, str]]:
    """Words and operators in order, each with whether it is an operator."""
    for child in node.children:
        if child.type in _INNER:
            yield from _flat(child)
        elif child.type == "command":
            yield from _words(child)
        elif child.type in _OPERATORS:
            yield True, child.type
        else:
            raise UnreadableCommandError(f"it has a part that is not let through: {child.type}")


def _words(command: Node) -> Iterator[tuple[bool, str]]:
    for place, child in enumerate(command.children):
        if child.type == "command_name":
            word = _text(child)
            if place or not _WORD.fullmatch(word) or word in _RESERVED:
                raise UnreadableCommandError("a command's name is not a plain word")
        else:
            word = _argument(child)
        yield False, word


def _argument(node: Node) -> str:
    text = _text(node)
    if node.type in ("word", "number") and _WORD.fullmatch(text):
        return text
    if node.type == "raw_string":
        return text[1:-1]
    # A string in double quotes in which nothing is looked for: no variable, no command, no history.
    if node.type == "string" and _QUOTED.fullmatch(text) and '"' not in text[1:-1]:
        return text[1:-1]
    raise UnreadableCommandError(f"a word is not plain: {node.type}")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _split(text: str) -> list[tuple[bool, str]]:
    """The same by `shlex`, which knows nothing of a shell's grammar."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=";|&<>()")
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return [(word in _OPERATORS, word) for word in reader]
    except ValueError as error:
        raise UnreadableCommandError("a quote is not closed") from error
