"""Which words of a command it may take for a command to run: all of them, but for commands that are known not to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["may_be_run"]

_NEVER_RUN_A_WORD: Final = frozenset(
    {
        *("echo", "printf", "true", "false", ":", "man", "info", "apropos", "whatis", "help", "which", "whereis"),
        *("type", "hash", "ls", "tree", "cat", "tac", "nl", "head", "tail", "less", "more", "wc", "sort", "uniq"),
        *("cut", "tr", "diff", "cmp", "comm", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "find", "fd"),
        *("locate", "file", "stat", "du", "df", "readlink", "realpath", "basename", "dirname", "cd", "pushd"),
        *("mkdir", "rmdir", "touch", "jq", "kill", "killall", "pkill", "pgrep", "pidof", "ps", "date", "sleep", "seq"),
        *("md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "curl", "wget"),
    }
)
"""Commands of GNU, util-linux, procps and their like that print, look for, read, fetch or make what their words name.

What they run, they run because an option says so. Left out is what gives a program another name or a right, as `cp`
and `chmod`.
"""

_HAVE_COMMANDS_OF_THEIR_OWN: Final = frozenset({"git", "hg", "svn"})
"""Commands of which the first word is a command of their own: `git rm` is not `rm`."""


def may_be_run(command: Sequence[str]) -> Sequence[str]:
    """The words behind a command's name that it may run as a command.

    Args:
        command: The name, as it is written, and the words behind it. A path is no name that is known: `./echo` is
            whatever lies there.
    """
    name, *words = command
    if name in _NEVER_RUN_A_WORD:
        return ()
    return words[1:] if name in _HAVE_COMMANDS_OF_THEIR_OWN else words
