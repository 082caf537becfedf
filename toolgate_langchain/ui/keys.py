"""The keyboard: whether somebody sits at it, and lines that were typed after the question was seen."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Keyboard", "interrupts_raise"]

_GLANCE: Final = 0.1
"""Seconds after which somebody who waits for a key looks up, so that Ctrl-C is noticed."""


class Keyboard:
    """Reads lines from a terminal.

    Reads from the descriptor itself: whatever a stream in between holds was typed before the
    question was there.

    Args:
        stdin: The terminal's stream; `None` for what `sys.stdin` is when it is needed.
    """

    def __init__(self, stdin: TextIO | None = None) -> None:
        self._given = stdin

    @property
    def _stdin(self) -> TextIO | None:
        return self._given if self._given is not None else sys.stdin

    def somebody_there(self, screen: object) -> bool:
        """Whether a person can see the screen and type.

        Args:
            screen: The stream that the question is written to.
        """
        stdin = self._stdin
        return stdin is not None and _is_terminal(stdin) and _is_terminal(screen) and not _in_background(stdin)

    def forget(self) -> None:
        """Drop everything that was typed so far; it cannot be an answer to what comes now."""
        stdin = self._stdin
        assert stdin is not None
        if sys.platform == "win32":
            import msvcrt

            while msvcrt.kbhit():
                msvcrt.getwch()
        else:
            import termios

            termios.tcflush(stdin.fileno(), termios.TCIFLUSH)

    def read_line(self) -> str:
        """One line, without its end.

        Raises:
            EOFError: At the end of input, also in the middle of a line, and when the terminal is gone.
            KeyboardInterrupt: On Ctrl-C.
        """
        stdin = self._stdin
        assert stdin is not None
        if sys.platform == "win32":
            text = stdin.readline()
            if not text.endswith("\n"):
                raise EOFError
            return text.rstrip("\r\n").encode("utf-8", "replace").decode()
        typed = b""
        # A terminal left in raw mode ends its lines with a carriage return.
        while not typed.endswith((b"\n", b"\r")):
            try:
                # Not one long wait: a Ctrl-C that comes just before it would be seen only at the next key.
                while not select.select([stdin.fileno()], [], [], _GLANCE)[0]:
                    pass
                more = os.read(stdin.fileno(), 65_536)
            except OSError as error:
                raise EOFError from error
            if not more:
                raise EOFError
            typed += more
        return typed.rstrip(b"\r\n").decode(stdin.encoding or "utf-8", "replace")


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """Make Ctrl-C raise `KeyboardInterrupt` here, also where an event loop took the signal for itself.

    Under `asyncio.run` the first Ctrl-C only cancels the task, which cannot end while it waits for a key.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError, OSError):
        return False


def _in_background(stdin: TextIO) -> bool:
    """Whether the terminal belongs to another job; reading would stop this process for good."""
    if sys.platform == "win32":
        return False
    try:
        return os.tcgetpgrp(stdin.fileno()) != os.getpgrp()
    except OSError:
        # Not the terminal that controls this process: there are no jobs on it.
        return False
