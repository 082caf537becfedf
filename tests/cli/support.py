"""The command, in a process of its own that cannot reach a network, or in this process where that is enough."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from tests.forked import PATIENCE, ROOT, Forked
from toolgate_langchain.cli.app import app

OFFLINE = Path(__file__).parent / "offline.py"
"""The command without a network, as a script."""


def environment(**more: str) -> dict[str, str]:
    """An environment with a wide screen and nothing that belongs to whoever runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    return {**kept, "COLUMNS": "300", "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error", "NO_COLOR": "1", **more}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def started(*arguments: str) -> Done:
    """Run the command without a terminal, in a process that begins with Python itself and all imports."""
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE.read_text(), *arguments],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def toolgate(*arguments: str) -> Done:
    """Run the command without a terminal, in a process of its own."""
    code, (out, error) = Forked(OFFLINE, *arguments, env=environment()).ended()
    return Done(code, out, error)


def here(*arguments: str, **more: str) -> Done:
    """Run the command in this process, without a terminal."""
    env = {"COLUMNS": "300", "NO_COLOR": "1", **more}
    done = CliRunner().invoke(app, arguments, prog_name="toolgate", env=env, catch_exceptions=False)
    return Done(done.exit_code, done.stdout, done.stderr)


def rows(output: str) -> list[tuple[str, str, str]]:
    """The summary's rows: the tool, its verdict and the layer that decided."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]
    return [(row[1].split(" ")[0], row[2], row[3]) for row in cells if len(row) == 6 and row[0].isdigit()]
