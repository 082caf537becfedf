"""The command, as a real child process that cannot reach a network, or in this process where that is enough."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from toolgate_langchain.cli.app import app

ROOT = Path(__file__).parents[2]

_OFFLINE = """
import socket, sys
def connect(*_):
    raise OSError("this test has no network")
socket.socket.connect = socket.socket.connect_ex = connect
socket.getaddrinfo = connect
from toolgate_langchain.cli import main
main()
"""


def command(*arguments: str) -> list[str]:
    """The command line of a child."""
    return [sys.executable, "-c", _OFFLINE, *arguments]


def environment(**more: str) -> dict[str, str]:
    """An environment with a wide screen and nothing that belongs to whoever runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    return {**kept, "COLUMNS": "300", "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error", "NO_COLOR": "1", **more}


def toolgate(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal; `more` goes to its environment."""
    return subprocess.run(
        command(*arguments),
        cwd=ROOT,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def here(*arguments: str, **more: str) -> Done:
    """Run the command in this process, without a terminal; a child takes a second to start."""
    env = {"COLUMNS": "300", "NO_COLOR": "1", **more}
    done = CliRunner().invoke(app, arguments, prog_name="toolgate", env=env, catch_exceptions=False)
    return Done(done.exit_code, done.stdout, done.stderr)


def rows(output: str) -> list[tuple[str, str, str]]:
    """The summary's rows: the tool, its verdict and the layer that decided."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]
    return [(row[1].split(" ")[0], row[2], row[3]) for row in cells if len(row) == 6 and row[0].isdigit()]
