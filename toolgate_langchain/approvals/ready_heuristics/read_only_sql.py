"""Approves a SQL statement that only reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.ready_heuristics.base import ArgumentHeuristic
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.sql import UnreadableSqlError, check_dialect, read_sql

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolgate_langchain.approvals.heuristics import HeuristicContext
    from toolgate_langchain.policy.sql import TableName

__all__ = ["ReadOnlySql"]

_NAME: Final = re.compile(r"[\w$# -]+")
"""What names a table. A dot, a slash, a colon or an at sign can name a file, an address or another server."""

_FILE_READERS: Final = frozenset(
    {
        *("csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "orc", "avro", "text", "binaryfile", "delta"),
        *("gz", "zst", "db", "duckdb", "sqlite", "xlsx", "arrow", "feather", "iceberg", "hudi", "libsvm", "xml"),
    }
)
"""Schemas of Spark (`csv.x`) and ends of file names of DuckDB (`x.csv`) that make a table's name one of a file."""


class ReadOnlySql(ArgumentHeuristic):
    """Approves one query of listed parts, in one dialect, without comments.

    What is listed stands in `policy.sql_words`: no function that does more than compute from its arguments, no
    lock, no variable, no cast that looks something up. The tool runs the model's own text, so anything that a
    database could read differently from sqlglot is left to a person.

    It does not protect from what a view, a rule, or an operator, a cast or a function that somebody defined in
    the database under a common name does, nor from one of any name that takes a whole row, which PostgreSQL also
    calls for `t.name`; from a slow query or a long answer; or from reading what should not be read, unless tables
    are named: without them every table may be read, the database's own too. Names of tables are compared as they
    are written. Give the tool a database user that can only read.

    Args:
        tool: The name of the tool.
        argument: The argument that is the statement.
        dialect: sqlglot's or SQLAlchemy's name of the dialect, as `"postgres"` or `"sqlite"`.
        tables: The tables that may be read, with their schema where the statement names it; `None` is all.
        functions: Functions to let through besides those that are listed.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        ConfigurationError: If there is no such dialect.
        MissingExtraError: If sqlglot is not installed (extra `sql-policy`).
    """

    def __init__(
        self,
        tool: str,
        argument: str,
        dialect: str,
        *,
        tables: Iterable[str] | None = None,
        functions: Iterable[str] = (),
        others: Iterable[str] = (),
        origin: str = LOCAL,
    ) -> None:
        super().__init__(tool, argument, others=others, origin=origin)
        if isinstance(tables, str) or isinstance(functions, str):
            raise ConfigurationError("tables and functions are lists of names, not one text")
        self._dialect = check_dialect(dialect)
        self._tables = None if tables is None else frozenset(tables)
        self._functions = frozenset(name.lower() for name in functions)

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether the statement only reads."""
        try:
            statement = read_sql(value, self._dialect, self._functions) if isinstance(value, str) else None
        except UnreadableSqlError:
            return False
        if statement is None or statement.writes or not statement.plain:
            return False
        if not all(map(_plainly_a_table, statement.tables)):
            return False
        return self._tables is None or all(str(table) in self._tables for table in statement.tables)


def _plainly_a_table(table: TableName) -> bool:
    """Whether a name can be nothing but one of a table on this server."""
    parts = [text for text, _ in table.parts]
    # A fourth part in front is another server, as SQL Server has it.
    if len(parts) > 3 or not all(map(_NAME.fullmatch, parts)):
        return False
    return len(parts) == 1 or _FILE_READERS.isdisjoint((parts[0].lower(), parts[-1].lower()))
