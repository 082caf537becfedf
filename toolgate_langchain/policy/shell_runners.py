"""Commands that run other commands: to allow one of them is to allow everything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["carries_commands", "runs_other_commands"]

_RUNNERS: Final = frozenset(
    {
        *("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "csh", "tcsh", "fish", "busybox", "toybox", "pwsh"),
        *("env", "xargs", "parallel", "sudo", "doas", "su", "runuser", "chroot", "unshare", "nsenter", "setpriv"),
        *("nohup", "nice", "ionice", "chrt", "taskset", "time", "timeout", "setsid", "stdbuf", "script", "watch"),
        *("flock", "strace", "ltrace", "gdb", "expect", "at", "batch", "crontab", "systemd-run", "dbus-run-session"),
        *("command", "builtin", "exec", "eval", "source", ".", "trap", "alias", "function", "enable", "coproc"),
        *("python", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "tclsh", "wish", "osascript"),
        *("awk", "gawk", "mawk", "nawk", "sed", "ed", "ex", "vi", "vim", "nvim", "emacs", "m4", "bc", "dc"),
        *("pkexec", "run0", "gosu", "su-exec", "setuidgid", "chpst", "capsh", "runcon", "setarch", "linux64"),
        *("prlimit", "numactl", "choom", "cgexec", "fakeroot", "proot", "firejail", "faketime", "torsocks"),
        *("proxychains", "proxychains4", "unbuffer", "rlwrap", "entr", "valgrind", "start-stop-daemon", "ld.so"),
        *("bwrap", "perf", "hyperfine", "xvfb-run", "mosh", "rsh", "wsl", "cmd", "catchsegv", "flatpak-spawn", "tsp"),
        *("rscript", "r", "java", "dotnet"),
        *("ssh", "docker", "podman", "kubectl", "make", "npx", "uvx", "pipx", "tmux", "screen"),
    }
)
_SPLIT: Final = re.compile(r"[\s;|&<>(){}`'\"$=]+")
_VERSIONED: Final = re.compile(r"(python|pypy|perl|ruby|php|lua|node)w?[0-9.]*(\.exe)?")


_COMMAND_LINES: Final = frozenset(
    {"command", "commands", "cmd", "cmds", "commandline", "cmdline", "argv", "shell", "script", "code"}
)


def carries_commands(arguments: Mapping[str, Any]) -> bool:
    """Whether a call runs a command that runs others: a yes to one such call is no yes to the next one.

    Args:
        arguments: The effective arguments. A command line is told by the name of its argument.
    """
    for name, value in arguments.items():
        if name.casefold().replace("_", "") in _COMMAND_LINES:
            for line in value if isinstance(value, list) else [value]:
                if isinstance(line, str) and any(map(runs_other_commands, _SPLIT.split(line[:10_000]))):
                    return True
    return False


def runs_other_commands(name: str) -> bool:
    """Whether a command runs what its arguments or its input say.

    Args:
        name: The name, or a path that ends in it.
    """
    last = name.rpartition("/")[2].casefold()
    return last.removesuffix(".exe") in _RUNNERS or _VERSIONED.fullmatch(last) is not None
