"""The tables of a ledger, in the words of SQLAlchemy Core.

Times are whole microseconds since 1970 (UTC), because SQLite has no times and both databases carry integers
exactly. What is JSON is canonical JSON text, so that the same bytes come back that were put in.
Every id is text that somebody else made, and is never interpreted.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, Table, Text, UniqueConstraint, false, true

if TYPE_CHECKING:
    from sqlalchemy.sql.type_api import TypeEngine

__all__ = [
    "ANSWERS",
    "CLAIMS",
    "EVENTS",
    "GRANTS",
    "METADATA",
    "NOTES",
    "REQUESTS",
    "RULES",
    "SWITCH",
    "as_time",
    "micros",
]

METADATA: Final = MetaData()

# SQLite numbers rows by itself only where the column is exactly INTEGER.
_ROW: Final[TypeEngine[int]] = BigInteger().with_variant(Integer(), "sqlite")


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, Text, nullable=False, **options)


REQUESTS: Final = Table(
    "toolgate_requests",
    METADATA,
    _text("request_id", primary_key=True),
    Column("thread_id", Text),
    Column("place", Text),  # the thread, and whose it is where its agent has a name
    _text("shown"),  # the request as its interrupt carries it
    Column("asked_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("open", Boolean, nullable=False),
)
"""What people were asked. `open` goes off with the answer, so that listing what is pending reads that alone."""

Index(
    "toolgate_requests_open",
    REQUESTS.c.asked_at,
    REQUESTS.c.request_id,
    sqlite_where=REQUESTS.c.open == true(),
    postgresql_where=REQUESTS.c.open == true(),
)

Index("toolgate_requests_place", REQUESTS.c.place)

ANSWERS: Final = Table(
    "toolgate_answers",
    METADATA,
    _text("request_id", primary_key=True),
    _text("type"),
    _text("answer"),
    Column("approver", Text),
    Column("thread_id", Text),
    Column("answered_at", BigInteger),
    Column("taken_back", Boolean, nullable=False, server_default=false()),
    Column("to_carry", Boolean, nullable=False, server_default=false()),
    Column("taken_in", Boolean, nullable=False, server_default=false()),
    _text("attempt"),
)
"""The answer that holds for each request. `attempt` tells a repeated write from another person's; `to_carry` is on
while it waits to be carried into its run, and `taken_in` once the run itself had it."""

Index(
    "toolgate_answers_to_carry",
    ANSWERS.c.answered_at,
    ANSWERS.c.request_id,
    sqlite_where=ANSWERS.c.to_carry == true(),
    postgresql_where=ANSWERS.c.to_carry == true(),
)

Index(
    "toolgate_answers_taken_back",
    ANSWERS.c.thread_id,
    sqlite_where=ANSWERS.c.taken_back == true(),
    postgresql_where=ANSWERS.c.taken_back == true(),
)

GRANTS: Final = Table(
    "toolgate_grants",
    METADATA,
    _text("request_id", primary_key=True),
    _text("digest"),
    _text("status"),
    _text("attempt"),
)
"""The right to start one call; its `status` is only ever changed by compare-and-set."""

CLAIMS: Final = Table(
    "toolgate_claims",
    METADATA,
    _text("request_id", primary_key=True),
    _text("holder"),
    Column("until", BigInteger, nullable=False),
)
"""Who carries an answer into its run, and until when others stand back."""

NOTES: Final = Table(
    "toolgate_notes",
    METADATA,
    _text("run_id", primary_key=True),
    _text("kind", primary_key=True),
    _text("subject", primary_key=True),
    _text("detail", primary_key=True),
    _text("value"),
)
"""The memory of runs, all kinds in one table, so that one statement reads what is known of a run at one moment."""

RULES: Final = Table(
    "toolgate_rules",
    METADATA,
    Column("id", _ROW, primary_key=True),
    _text("scope"),
    _text("owner"),
    _text("identity"),
    Column("request_id", Text),
    Column("place", BigInteger, nullable=False),
    _text("rule"),
    UniqueConstraint("scope", "owner", "identity"),
)
"""Standing rules outside of a state: of a thread, or of whoever else owns some."""

Index("toolgate_rules_request", RULES.c.request_id)

SWITCH: Final = Table(
    "toolgate_switch",
    METADATA,
    _text("name", primary_key=True),
    Column("stopped", Boolean, nullable=False),
)
"""The switch that stops all releases: one row, once it was ever thrown."""

EVENTS: Final = Table(
    "toolgate_events",
    METADATA,
    Column("id", _ROW, primary_key=True),
    Column("at", BigInteger, nullable=False),
    _text("kind"),
    Column("request_id", Text),
    Column("thread_id", Text),
    _text("detail"),
    Column("once", Text),
)
"""What happened, in order. Rows are only ever added. `once` is the same for what a replay would tell again."""

Index(
    "toolgate_events_once",
    EVENTS.c.once,
    unique=True,
    sqlite_where=EVENTS.c.once.is_not(None),
    postgresql_where=EVENTS.c.once.is_not(None),
)

Index("toolgate_events_request", EVENTS.c.request_id)
# Most of what happens names its request alone; the thread is known from where it was asked or decided.
Index(
    "toolgate_events_thread",
    EVENTS.c.thread_id,
    sqlite_where=EVENTS.c.thread_id.is_not(None),
    postgresql_where=EVENTS.c.thread_id.is_not(None),
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def micros(at: datetime) -> int:
    """A time as the tables hold it.

    Raises:
        ValueError: If the time has no zone, so that nobody can tell which moment it is.
    """
    if at.tzinfo is None:
        raise ValueError(f"the time {at.isoformat()} has no zone; use for example datetime.now(UTC)")
    return (at - _EPOCH) // _MICROSECOND


def as_time(value: int) -> datetime:
    """A time from the tables, in UTC."""
    return _EPOCH + value * _MICROSECOND
