"""The record as JSON lines: written one by one, and read back only where nothing was changed or left out.

Each line stands by itself: it has a version, its place, its time, and all that is needed to ask its question again.
`chain` is the SHA-256 of the chain of the line before and of the line's own text, so that a line that was changed,
moved or taken out shows, and the last line says how many there were. No key is needed to make a chain: it shows what
happened to a file by accident, or by somebody who did not care to make all of it anew. Whoever keeps the last chain
elsewhere can tell the same record from any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.errors import ConfigurationError, NotPlainJsonError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.recording.event import LedgerEvent
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["FORMAT", "export_record", "read_record"]

FORMAT: Final = 1
"""The version of a line."""

_PAGE: Final = 500
"""Events read at once: a few megabytes at most, however long the record is."""

_START: Final = "record"
_END: Final = "end of record"


class _Events(Protocol):
    """A ledger whose events can be read."""

    def events(
        self,
        *,
        request_id: str | None = None,
        thread_id: str | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 1_000,
    ) -> Maybe[Sequence[LedgerEvent]]: ...


def export_record(ledger: Any, *, thread_id: str | None = None, since: datetime | None = None) -> Iterator[str]:
    """The record of a ledger as JSON lines, each with its line break; read page by page, in constant memory.

    Args:
        ledger: A ledger that keeps the record, as `SqlLedger` does.
        thread_id: Only what happened on one thread.
        since: Only what happened at this time or later.

    Raises:
        ConfigurationError: If the ledger keeps no record, or the time has no zone.
        LedgerError: If its database cannot be read.
    """
    if not callable(getattr(ledger, "events", None)):
        raise ConfigurationError(f"{type(ledger).__name__} keeps no record; use SqlLedger")
    if since is not None and since.tzinfo is None:
        raise ConfigurationError(f"since is {since.isoformat()}, which has no zone; write for example {since}+00:00")
    return _lines(ledger, thread_id, since)


def _lines(ledger: _Events, thread_id: str | None, since: datetime | None) -> Iterator[str]:
    head: dict[str, Any] = {"v": FORMAT, "kind": _START}
    if thread_id is not None:
        head["only_thread"] = thread_id
    if since is not None:
        head["since"] = since.isoformat()
    chain, line = _chained("", head)
    yield line
    after = count = 0
    while page := run_steps(_page(ledger, thread_id, since, after)):
        for event in page:
            after, count = event.number, count + 1
            chain, line = _chained(chain, _plain(event))
            yield line
    yield _chained(chain, {"v": FORMAT, "kind": _END, "lines": count})[1]


def _page(ledger: _Events, thread_id: str | None, since: datetime | None, after: int) -> Steps[Sequence[LedgerEvent]]:
    found: Sequence[LedgerEvent] = yield lambda: ledger.events(
        thread_id=thread_id, since=since, after=after, limit=_PAGE
    )
    return found


def _plain(event: LedgerEvent) -> dict[str, Any]:
    plain = {
        "v": FORMAT,
        "n": event.number,
        "at": event.at.isoformat(),
        "kind": event.kind,
        "request": event.request_id,
        "thread": event.thread_id,
    }
    return {**{name: value for name, value in plain.items() if value is not None}, "detail": dict(event.detail)}


def _chained(before: str, plain: Mapping[str, Any]) -> tuple[str, str]:
    """The chain after a line, and the line with it."""
    chain = sha256((before + canonical_json(plain)).encode()).hexdigest()
    return chain, canonical_json({**plain, "chain": chain}) + "\n"


def read_record(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read exported lines back, each with its number in the file, from 1; in constant memory.

    Args:
        lines: The lines, as an open file gives them.

    Raises:
        RecordError: While it is read: at a line that cannot be read, is of a newer version, was changed, moved or
            taken out, or where the end is missing. It names the line.
    """
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        raise ConfigurationError(f"lines is {lines!r:.80}; it must be lines, as an open file gives them")
    chain, count, place, ended = "", 0, 0, False
    for place, text in enumerate(lines, start=1):
        if ended:
            raise RecordError(place, "there is something behind the end of the record")
        plain = _read(place, text)
        if (plain["kind"] == _START) is not (place == 1):
            raise RecordError(place, "a record starts with its first line, and nowhere else")
        chain = _checked(place, text, plain, chain)
        if plain["kind"] == _END:
            ended = True
            if plain.get("lines") != count:
                raise RecordError(place, f"the record should have {plain.get('lines')} lines and has {count}")
        elif plain["kind"] != _START:
            count += 1
            yield place, plain
    if not ended:
        raise RecordError(place + 1, "the end of the record is missing")


def _checked(place: int, text: str, plain: dict[str, Any], before: str) -> str:
    """The chain after a line that is, byte for byte, what was written behind the line before it."""
    plain.pop("chain", None)
    try:
        chain, line = _chained(before, plain)
    except NotPlainJsonError as error:
        raise RecordError(place, str(error)) from error
    if line.rstrip("\n") != text.rstrip("\r\n"):
        raise RecordError(place, "it was changed, or a line before it was changed, moved or taken out")
    return chain


def _read(place: int, text: str) -> dict[str, Any]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(place, f"it is not JSON: {error}") from error
    if not isinstance(plain, dict) or not isinstance(plain.get("kind"), str):
        raise RecordError(place, "it is no line of a record")
    if plain.get("v") != FORMAT:
        raise RecordError(place, f"it has version {plain.get('v')!r}; this version reads {FORMAT}")
    return plain
