"""Processes of their own that do not take a second to begin: each is forked from a server that loaded the libraries.

The server ran nothing and is forked from nothing, so that a child shares no object with the test or with another
child. Where the sentence is about how a process begins, `subprocess` starts one in earnest.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import runpy
import signal
import sqlite3
import sys
import tempfile
import termios
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing import reduction
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, TextIO, cast

__all__ = ["DEVNULL", "PATIENCE", "PIPE", "PROCESSES", "ROOT", "Forked"]

ROOT = Path(__file__).parents[1]
PATIENCE = 120
"""Seconds after which a child counts as hanging."""

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """A script or module, run as `__main__` in a process of its own, in which every warning is an error.

    Args:
        script: The path of a script, or the name of a module.
        *arguments: Its command line.
        stdin: Where its input comes from: a file descriptor, `PIPE` or `DEVNULL`.
        stdout: Where its output goes: a file descriptor or `PIPE`; left out, it is kept for `ended`.
        stderr: Where its errors go: a file descriptor; left out, they are kept as well.
        env: Its whole environment; left out, that of the tests.
        cwd: Its folder.
        session: Whether it leads a session of its own, on the terminal that its input is, if that is one.
    """

    def __init__(
        self,
        script: Path | str,
        *arguments: str,
        stdin: int = DEVNULL,
        stdout: int | None = None,
        stderr: int | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        session: bool = False,
    ) -> None:
        self.stdin, self.stdout = cast("TextIO", None), cast("TextIO", None)
        self._kept: list[TextIO] = []
        theirs = [os.open(os.devnull, os.O_RDWR)]
        if stdin == PIPE:
            stdin, mine = os.pipe()
            self.stdin = os.fdopen(mine, "w", encoding="utf-8")
            theirs.append(stdin)
        if stdout == PIPE:
            mine, stdout = os.pipe()
            self.stdout = os.fdopen(mine, encoding="utf-8")
            theirs.append(stdout)
        streams = [_Stream(theirs[0] if stdin == DEVNULL else stdin)]
        streams += [_Stream(self._keep() if one is None else one) for one in (stdout, stderr)]
        given = (str(script), arguments, streams, dict(os.environ if env is None else env), str(cwd), session)
        self._process = PROCESSES.Process(target=_run, args=given)
        self._process.start()
        for one in theirs:
            os.close(one)

    def _keep(self) -> int:
        self._kept.append(cast("TextIO", tempfile.TemporaryFile("w+", encoding="utf-8")))  # noqa: SIM115
        return self._kept[-1].fileno()

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.exitcode is None

    def wait(self) -> int:
        """Wait for its end, and give its exit code."""
        self._process.join(PATIENCE)
        assert self._process.exitcode is not None, "the child hangs"
        return self._process.exitcode

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self._process.kill()
        self._process.join(PATIENCE)

    def ended(self, told: str = "") -> tuple[int, list[str]]:
        """Tell it something, close its input where that is a `PIPE`, and wait for its end.

        Returns:
            Its exit code, and what it wrote to its output and to its errors, as far as that was not read yet or went
            elsewhere.
        """
        if self.stdin is not None:
            self.stdin.write(told)
            self.stdin.close()
        wrote = []
        if self.stdout is not None:
            wrote.append(self.stdout.read())
            self.stdout.close()
        code = self.wait()
        for file in self._kept:
            file.seek(0)
            wrote.append(file.read())
            file.close()
        return code, wrote


class _Stream:
    """A file descriptor on its way to a child."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[Callable[..., _Stream], tuple[Any, ...]]:
        return _arrived, (reduction.DupFd(self.descriptor),)


def _arrived(sent: Any) -> _Stream:
    return _Stream(sent.detach())


def _run(
    script: str, arguments: tuple[str, ...], streams: list[_Stream], env: dict[str, str], cwd: str, session: bool
) -> None:
    """The whole life of a child."""
    for number, stream in enumerate(streams):
        os.dup2(stream.descriptor, number)
        os.close(stream.descriptor)
    if session:
        os.setsid()
        if os.isatty(0):
            # The terminal is then the one whose Ctrl-C reaches it, as a shell makes it.
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    # Tests that were started in the background hand down that Ctrl-C is ignored; a shell at a terminal does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[:] = [str(ROOT), *(one for one in sys.path if one != str(ROOT))]
    sys.argv = [script, *arguments]
    warnings.simplefilter("error")
    for module in (sqlite3, sqlite3.dbapi2):
        setattr(module, "connect", partial(module.connect, factory=_OffTheDisk))  # noqa: B010
    if script.endswith(".py"):
        runpy.run_path(script, run_name="__main__")
    else:
        runpy.run_module(script, run_name="__main__")


class _OffTheDisk(sqlite3.Connection):
    """Does not wait for the disk, unless it is told to: the machine's power is not what is tested."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        with suppress(sqlite3.Error):
            # What is wrong with the file is for whoever uses it to meet.
            self.execute("PRAGMA synchronous = OFF")
