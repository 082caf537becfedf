"""The ledger that a command looks into: one that is there already, never a new one by a slip of the pen."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolgate_langchain.errors import ConfigurationError, needs_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.approvals.sql.ledger import SqlLedger

__all__ = ["LedgerUrl", "open_ledger"]

LedgerUrl = Annotated[
    str,
    typer.Option(
        "--ledger",
        envvar="TOOLGATE_LEDGER",
        metavar="URL",
        help="The ledger's database, as SqlLedger takes it: sqlite:///ledger.db or "
        "postgresql://user:password@host/database.",
    ),
]
"""The option that names a ledger."""


@contextmanager
def open_ledger(url: str) -> Iterator[SqlLedger]:
    """Open a ledger, and close it in the end.

    Args:
        url: Its database.

    Raises:
        ConfigurationError: If it is no URL of a database, or of a file that is not there.
        LedgerSchemaError: When it is first used, if there is no ledger in that database.
        MissingExtraError: If SQLAlchemy or the driver is missing.
    """
    with needs_extra("A ledger in a database", "sql"):
        from toolgate_langchain.approvals.sql.connecting import read_url, shown_url
        from toolgate_langchain.approvals.sql.ledger import SqlLedger
    parsed = read_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(str(parsed.database)).is_file():
        raise ConfigurationError(f"there is no ledger {shown_url(parsed)}: no file {parsed.database}")
    ledger = SqlLedger(parsed, create=False)
    try:
        yield ledger
    finally:
        ledger.close()
