"""How a database becomes a ledger, and how an older ledger becomes today's.

The version stands in a table of its own. Several workers may start at once on an empty database: whoever comes
first creates everything in one transaction, the others wait for it and find it done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import Column, Integer, MetaData, Table, insert, inspect, select, text, update

from toolgate_langchain.approvals.sql.outcomes import make_identity
from toolgate_langchain.approvals.sql.stamps import MAKE_STAMPS
from toolgate_langchain.approvals.sql.tables import EVENTS, METADATA
from toolgate_langchain.errors import LedgerSchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

__all__ = ["STEPS", "migrate"]

_VERSIONS: Final = Table("toolgate_schema", MetaData(), Column("version", Integer, nullable=False))

_LOCK: Final = 0x74_6F_6F_6C_67_61_74_65
"""The key of the advisory lock of PostgreSQL under which a schema is created; any number, the same for all workers."""

_SHOWN: Final = 40
"""Characters of what stands in the place of a version that an error shows; a version has two or three."""


def _create(connection: Connection) -> None:
    METADATA.create_all(connection, checkfirst=False)
    make_identity(connection)
    for statement in (*_APPEND_ONLY[connection.dialect.name], *MAKE_STAMPS[connection.dialect.name]):
        connection.execute(text(statement))


# Nothing in this package changes an event; this also keeps a statement typed by hand from doing so by accident.
_APPEND_ONLY: Final = {
    "sqlite": [
        f"CREATE TRIGGER toolgate_events_no_{verb} BEFORE {verb} ON {EVENTS.name} "
        "BEGIN SELECT RAISE(ABORT, 'events of the ledger are only added'); END"
        for verb in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION toolgate_only_added() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'events of the ledger are only added'; END $$",
        f"CREATE TRIGGER toolgate_events_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON {EVENTS.name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION toolgate_only_added()",
    ],
}

STEPS: Final[tuple[Callable[[Connection], None], ...]] = (_create,)
"""Step N takes a database from version N to version N + 1. A released step is never edited, only followed."""


def migrate(
    connection: Connection, steps: Sequence[Callable[[Connection], None]] = STEPS, *, create: bool = True
) -> None:
    """Bring the database of an open transaction to today's version; both databases do so as a whole or not at all.

    Args:
        connection: In a transaction that nobody else writes beside (in SQLite; in PostgreSQL a lock is taken).
        steps: The steps from an empty database to today's version.
        create: Whether a ledger is made where there is none.

    Raises:
        LedgerSchemaError: If there is no ledger and none is to be made, if the database is of a newer version, or
            its tables are another program's.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    version = _version(connection, len(steps), create=create)
    if version > len(steps):
        raise LedgerSchemaError(
            f"the ledger's database has schema version {version}, and this version of toolgate-langchain knows "
            f"version {len(steps)}: install the newer one here too"
        )
    if version == len(steps):
        return
    for step in steps[version:]:
        step(connection)
    connection.execute(update(_VERSIONS).values(version=len(steps)))


def _version(connection: Connection, known: int, *, create: bool) -> int:
    """The version of the database; a table for it is made where there is none. `known` is today's version."""
    there = set(inspect(connection).get_table_names())
    taken = sorted(there & set(METADATA.tables))
    if _VERSIONS.name not in there:
        if taken:
            raise _anothers(taken)
        if not create:
            raise LedgerSchemaError(
                f"there is no ledger in this database (it has no table {_VERSIONS.name}): give the URL that the "
                "workers' SqlLedger has"
            )
        _VERSIONS.create(connection)
        connection.execute(insert(_VERSIONS).values(version=0))
        return 0
    # The columns come with the rows: to have the table described takes longer than all the rest. They are this table's,
    # and not those that SQLAlchemy remembers of the same words about another one.
    every = select(text("*")).select_from(_VERSIONS)
    rows = connection.execute(every, execution_options={"compiled_cache": None})
    if list(rows.keys()) != ["version"]:
        raise _no_ledger("has other columns")
    found = rows.scalars().all()
    if len(found) != 1:
        raise _no_ledger(f"must hold one version and holds {len(found)}")
    version = found[0]
    # SQLite keeps a word in a column of numbers, and another program may have another column.
    if type(version) is not int or version < 0:
        raise _no_ledger(f"holds {_shown(version)}, which is no version")
    if version == 0 and taken:
        raise _anothers(taken)
    if 0 < version <= known and not taken:
        raise _no_ledger(f"says version {version}, and none of a ledger's other tables is there")
    return version


def _anothers(taken: Sequence[str]) -> LedgerSchemaError:
    return LedgerSchemaError(
        f"the database holds tables that are not a ledger's ({', '.join(taken)}): give the ledger a database of its own"
    )


def _no_ledger(why: str) -> LedgerSchemaError:
    return LedgerSchemaError(
        f"the table {_VERSIONS.name} of this database is not a ledger's (it {why}): give the ledger a database of its "
        "own"
    )


def _shown(found: object) -> str:
    """What another program wrote, as it may stand in an error."""
    written = repr(found)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
