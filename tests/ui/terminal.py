"""Real pseudo-terminals: a person who reads what is shown and types."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import struct
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from tests.forked import DEVNULL, Forked

_PATIENCE = 60
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

CTRL_C = "\x03"
CTRL_D = "\x04"
HANG_UP = "hang up"
ANSWER = "Your answer ["


class Terminal:
    """The person's side of a pseudo-terminal."""

    def __init__(self, *, columns: int = 100) -> None:
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.raw = b""
        self._read_to = 0

    @property
    def text(self) -> str:
        """Everything shown so far, with the terminal's line ends and colours taken off."""
        return _COLOURS.sub("", self.raw.decode(errors="replace").replace("\r\n", "\n"))

    def wait_for(self, wanted: str) -> str:
        """Read until something new is shown, and return what came before it; fails when it does not come."""
        until = time.monotonic() + _PATIENCE
        while (found := self.text.find(wanted, self._read_to)) < 0:
            ready, _, _ = select.select([self.master], [], [], max(until - time.monotonic(), 0))
            data = self._read() if ready else b""
            if not data:
                raise AssertionError(f"{wanted!r} was not shown; shown since: {self.text[self._read_to :]}")
            self.raw += data
        before = self.text[self._read_to : found]
        self._read_to = found + len(wanted)
        return before

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self.master, keys.encode())

    def answer(self, *lines: str) -> None:
        """Wait for the question, type a line, then for each further line wait for its prompt."""
        for position, line in enumerate(lines):
            self.wait_for(ANSWER if position == 0 else ":" if position == 1 else "[y/n]")
            self.wait_for(" ")
            self.type(f"{line}\n")

    def read_rest(self) -> None:
        """Read what is left, until the other side is closed."""
        while data := self._read():
            self.raw += data

    def _read(self) -> bytes:
        # A closed other side is an error on Linux and an end elsewhere.
        try:
            return os.read(self.master, 65_536)
        except OSError:
            return b""

    def close_slave(self) -> None:
        """Give the other side up, so that its end is noticed."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def close(self) -> None:
        """Hang up."""
        self.close_slave()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


@contextmanager
def here(script: Sequence[tuple[str, str]], *, columns: int = 100) -> Iterator[tuple[Console, TextIO, Terminal]]:
    """A terminal in this process, with a person in a thread who waits for a text and then types, step by step.

    When the script is over, or what it waits for does not come, the person hangs up.
    """
    terminal = Terminal(columns=columns)
    stdin = os.fdopen(os.dup(terminal.slave), "r", encoding="utf-8")
    stdout = os.fdopen(os.dup(terminal.slave), "w", encoding="utf-8")
    terminal.close_slave()
    failed: list[AssertionError] = []

    def person() -> None:
        try:
            for wanted, keys in script:
                terminal.wait_for(wanted)
                if keys == HANG_UP:
                    terminal.close()
                    return
                terminal.type(keys)
        except AssertionError as error:
            failed.append(error)
            terminal.close()
        else:
            terminal.read_rest()

    thread = threading.Thread(target=person)
    thread.start()
    try:
        yield Console(file=stdout, force_terminal=True, width=columns), stdin, terminal
    finally:
        stdin.close()
        with suppress(OSError):
            stdout.close()
        thread.join()
        terminal.close()
    if failed:
        raise failed[0]


class Child:
    """A run of an agent in a child process of its own.

    Args:
        scenario: A name in `tests/ui/agent_child.py`.
        report: Where the child writes what happened.
        terminal: The terminal it runs on.
        stdin: Its input where that is not the terminal, as for `Forked`.
    """

    def __init__(
        self, scenario: str, report: Path, terminal: Terminal | None = None, *, stdin: int | None = None
    ) -> None:
        self._report = report
        shown = None if terminal is None else terminal.slave
        if stdin is None:
            stdin = DEVNULL if shown is None else shown
        self.process = Forked(
            "tests.ui.agent_child", scenario, str(report), stdin=stdin, stdout=shown, stderr=shown, session=True
        )
        if terminal is not None:
            terminal.close_slave()

    def report(self) -> dict[str, Any]:
        """Wait for its end and read what happened."""
        assert self.process.wait() == 0
        report: dict[str, Any] = json.loads(self._report.read_text())
        return report


@contextmanager
def agent(scenario: str, report: Path, *, stdin: int | None = None) -> Iterator[tuple[Terminal, Child]]:
    """An agent in a child process, on a terminal of its own."""
    terminal = Terminal()
    child = Child(scenario, report, terminal, stdin=stdin)
    try:
        yield terminal, child
    finally:
        if child.process.running:
            child.process.kill()
        terminal.close()
