"""The command `toolgate`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process, and exit.

    The exit code is 0 where all went to its end, 1 where the run failed or nobody was there to
    answer, and 2 where the command itself cannot be used as it was given.
    """
    try:
        from toolgate_langchain.cli.app import app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        from toolgate_langchain.errors import MissingExtraError

        sys.stderr.write(f"{MissingExtraError('The command toolgate', 'cli')}\n")
        sys.exit(2)
    app(prog_name="toolgate")
