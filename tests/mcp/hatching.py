"""MCP servers that are started as child processes, and do not take half a second to load what each of them loads.

What a client starts is a small process; it hands its streams to a server that is forked off one that has the libraries
loaded and has opened nothing.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tests.forked import PIPE, Forked

__all__ = ["Hatchery", "hatching"]

_CHILDREN = Path(__file__).parent / "children"


class Hatchery:
    """Where servers are forked off.

    Args:
        where: The path of its socket.
    """

    def __init__(self, where: str) -> None:
        self._where = where

    def command(self, *command: str) -> list[str]:
        """The command line of a server: Python, and what it is to run, as a script or as `-m MODULE`."""
        return [sys.executable, "-I", "-S", str(_CHILDREN / "hatched.py"), self._where, *command]

    @contextmanager
    def started(self, *command: str) -> Iterator[TextIO]:
        """Start a server, give its output, and stop it again."""
        ours, theirs = os.pipe()
        with os.fdopen(ours, encoding="utf-8") as output, socket.socket(socket.AF_UNIX) as asking:
            asking.connect(self._where)
            given = {"command": command, "environment": dict(os.environ), "folder": str(Path.cwd())}
            with Path(os.devnull).open() as nothing:
                socket.send_fds(asking, [json.dumps(given).encode()], [nothing.fileno(), theirs, 2])
            os.close(theirs)
            with asking.makefile() as told:
                server = int(told.readline())
                try:
                    yield output
                finally:
                    os.kill(server, signal.SIGTERM)
                    told.readline()


@contextmanager
def hatching() -> Iterator[Hatchery]:
    """A hatchery, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder) / "hatchery")
        process = Forked(_CHILDREN / "hatchery.py", where, stdout=PIPE)
        try:
            assert process.stdout.readline() == "ready\n"
            yield Hatchery(where)
        finally:
            process.kill()
            process.ended()
