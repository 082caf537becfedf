"""`toolgate record` and `toolgate replay`: the record of a ledger as lines, and whether it still comes out the same."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolgate_langchain.cli.errors import plain_errors
from toolgate_langchain.cli.ledgers import LedgerUrl, open_ledger
from toolgate_langchain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

__all__ = ["record", "replay"]

_SHOWN: Final = 20
"""Differences that are written out; of more, how many there are is enough to know."""

_FAILED: Final = 1


def record(
    ledger: LedgerUrl,
    thread: Annotated[str | None, typer.Option(help="Only what happened on this thread.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only what happened at this time or later: 2026-01-02, or 2026-01-02T03:04:05+00:00.", metavar="TIME"
        ),
    ] = None,
) -> None:
    """Write the record of a ledger as JSON lines: who or what decided each call, on what, and what came of it.

    Sensitive values are masked in it. Each line is chained to the one before; the last one's chain stands for all.
    """
    with plain_errors():
        from toolgate_langchain.approvals.recording.lines import export_record

        at = None if since is None else _time(since)
        with open_ledger(ledger) as opened:
            for line in export_record(opened, thread_id=thread, since=at):
                sys.stdout.write(line)


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `toolgate record` wrote; - reads it from a pipe.")],
) -> None:
    """Ask every question of a record again, and tell where the answer is another one today.

    The exit code is 1 where something differs, or where a line cannot be read or was altered.
    """
    with plain_errors():
        from toolgate_langchain.approvals.recording.replay import replay_record
        from toolgate_langchain.approvals.shown import show_text
        from toolgate_langchain.errors import RecordError

        try:
            with _opened(file) as lines:
                done = replay_record(lines)
        except RecordError as error:
            typer.echo(f"toolgate: {show_text(str(error)).text}", err=True)
            raise typer.Exit(_FAILED) from error
        for one in done.differences[:_SHOWN]:
            tool, recorded, today = (show_text(text).text for text in (one.tool, one.recorded, one.today))
            typer.echo(f"line {one.line}, {tool}: recorded {recorded}; today {today}")
        if len(done.differences) > _SHOWN:
            typer.echo(f"... and {len(done.differences) - _SHOWN:,} more")
        differ = len(done.differences)
        what = "none differs" if not differ else f"{differ:,} differ{'s' if differ == 1 else ''}"
        typer.echo(f"{done.lines:,} lines, {done.decisions:,} decisions asked for again, {what}")
        if differ:
            raise typer.Exit(_FAILED)


def _time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(f"--since is {text!r}; it must be a time such as 2026-01-02T03:04:05+00:00") from error
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    if file == "-":
        yield sys.stdin
        return
    try:
        with Path(file).open(encoding="ascii", errors="surrogateescape", newline="\n") as lines:
            yield lines
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from error
