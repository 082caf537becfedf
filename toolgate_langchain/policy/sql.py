"""Reading one SQL statement: what it reads, what it writes, and the one text that says exactly that.

A statement is read by sqlglot, in the dialect of its database, and everything in it must be listed in
`sql_words`. What is handed on is not the model's text but the text written anew from what was read: comments,
which MySQL may execute, are gone, and a database cannot find another statement in it than the one that was
judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import ConfigurationError, needs_extra
from toolgate_langchain.policy.sql_parser import UnreadableSqlError, parse_statements
from toolgate_langchain.policy.sql_words import (
    ARGUMENTS,
    CALLED_BARE,
    FUNCTIONS,
    NODES,
    STATEMENTS,
    TYPES,
    WRITING_NODES,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlglot import exp

__all__ = ["MAX_SQL", "SqlStatement", "TableName", "UnreadableSqlError", "check_dialect", "read_sql"]

MAX_SQL: Final = 10_000
"""Characters of a statement. Longer ones are not written by hand and not read by anybody who is asked."""

MAX_NESTING: Final = 40
"""Brackets inside each other; far below where the parser's own recursion ends."""

_MAX_NODES: Final = 5_000

_DIALECTS: Final = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}
"""SQLAlchemy's names of dialects for which sqlglot has another."""

_BACKSLASH_IS_PLAIN: Final = frozenset({"sqlite"})
"""Dialects in which no setting makes a backslash hide the quote behind it."""

_NOTHING_ENDS_A_STATEMENT: Final = frozenset({"tsql", "fabric"})
"""Dialects in which one statement may follow another without a sign between them."""

_USER_IS_A_NAME: Final = frozenset({"sqlite", "mysql"})
"""Dialects in which a table may be called `user` and the like, because nothing is called without brackets."""

_COMMENT: Final = re.compile(r"--|/\*|#")
_QUOTED_CALL: Final = re.compile(r"[\"`\]]\s*\(")
"""A name in quotes that is called: PostgreSQL's `"Lower"(a)` is not `lower(a)`, and somebody defined it."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as a statement names it, each part with whether it stands in quotes."""

    parts: tuple[tuple[str, bool], ...]
    """Catalog and schema, where they are given, and the table."""

    def __str__(self) -> str:
        return ".".join(text for text, _ in self.parts)


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement that was read."""

    text: str
    """The statement written anew, without comments. Reading it again gives the same."""
    tables: tuple[TableName, ...]
    """The tables and views that it names, in order, each once; names that it defines itself are none."""
    writes: bool
    """Whether it changes rows."""
    plain: bool
    """Whether the text that was read has nothing that another reader could take for a comment or another function."""


def check_dialect(name: str) -> str:
    """The name that sqlglot has for a dialect.

    Args:
        name: sqlglot's own or SQLAlchemy's.

    Raises:
        ConfigurationError: If there is no such dialect.
        MissingExtraError: If sqlglot is not installed.
    """
    with needs_extra("reading SQL", "sql-policy"):
        from sqlglot.dialects.dialect import Dialect
    if not isinstance(name, str):
        raise ConfigurationError(f"dialect is {name!r}; it must be a name, as 'postgres' or 'sqlite'")
    known = _DIALECTS.get(name, name)
    if not known or Dialect.get(known) is None:
        raise ConfigurationError(f"there is no SQL dialect {name!r}; use one of sqlglot's, as 'postgres' or 'sqlite'")
    return known


def read_sql(text: str, dialect: str, functions: Collection[str] = ()) -> SqlStatement:
    """Read one statement.

    Args:
        text: The statement.
        dialect: What `check_dialect` gave.
        functions: Functions to let through besides `sql_words.FUNCTIONS`, in small letters.

    Raises:
        UnreadableSqlError: If it is no single statement of listed parts, or too long or too deep to be read.
        MissingExtraError: If sqlglot is not installed.
    """
    with needs_extra("reading SQL", "sql-policy"):
        import sqlglot  # noqa: F401  # so that a missing one is told apart from what cannot be read
    try:
        _check_size(text, dialect)
        tree = _parsed(text, dialect)
        _check_parts(tree, frozenset(functions))
        _check_names(tree, dialect)
        written = _written(tree, dialect)
        if _written(_parsed(written, dialect), dialect) != written:
            raise UnreadableSqlError("it reads differently when it is written anew")
        tables = tuple(dict.fromkeys(_tables(tree, frozenset())))
    except (UnreadableSqlError, ConfigurationError):
        raise
    except Exception as error:  # sqlglot raises whatever it stumbles on, as an IndexError for `var_map(1, 2, 3)`
        raise UnreadableSqlError(f"it cannot be read as {dialect}") from error
    writes = any(type(node).__name__ in WRITING_NODES for node in tree.walk())
    return SqlStatement(written, tables, writes, plain=not (_COMMENT.search(text) or _QUOTED_CALL.search(text)))


def _check_size(text: str, dialect: str) -> None:
    if len(text) > MAX_SQL:
        raise UnreadableSqlError(f"it is longer than {MAX_SQL:,} characters")
    if "\0" in text:
        raise UnreadableSqlError("it has a NUL character, where some databases stop reading")
    if "\\" in text and dialect not in _BACKSLASH_IS_PLAIN:
        raise UnreadableSqlError("it has a backslash, which hides a quote or not as the database is set up")
    depth = 0
    for character in text:
        depth += 1 if character in "([{" else -1 if character in ")]}" else 0
        if depth > MAX_NESTING:
            raise UnreadableSqlError(f"it is nested deeper than {MAX_NESTING} brackets")


def _parsed(text: str, dialect: str) -> exp.Expr:
    statements = parse_statements(text, dialect)
    if len(statements) != 1:
        raise UnreadableSqlError(f"it is {len(statements)} statements, not one")
    return statements[0]


def _written(tree: exp.Expr, dialect: str) -> str:
    from sqlglot import ErrorLevel

    return tree.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.RAISE)


def _check_parts(tree: exp.Expr, functions: frozenset[str]) -> None:
    """Refuse whatever is not listed."""
    from sqlglot import exp

    if not isinstance(tree, exp.Query | exp.Insert | exp.Update | exp.Delete) or isinstance(tree, exp.Table):
        raise UnreadableSqlError(f"a {type(tree).__name__} is neither a query nor a change of rows")
    for count, node in enumerate(tree.walk(), start=1):
        name = type(node).__name__
        if count > _MAX_NODES:
            raise UnreadableSqlError(f"it has more than {_MAX_NODES:,} parts")
        if isinstance(node, exp.Func) and name not in NODES:
            _check_function(node, functions)
        elif name not in NODES and name not in WRITING_NODES:
            raise UnreadableSqlError(f"it has a part that is not let through: {name}")
        said = {key for key, value in node.args.items() if value not in (None, False, [])}
        if name in ARGUMENTS and not said <= ARGUMENTS[name]:
            raise UnreadableSqlError(f"a {name} says what is not let through: {min(said - ARGUMENTS[name])}")
        if name == "In" and not said & {"expressions", "query"}:
            raise UnreadableSqlError("it looks for a value in nothing, which PostgreSQL reads as a name")
        if name == "Fetch" and "count" not in said:
            raise UnreadableSqlError("it fetches and does not say how many rows, as from a cursor")
        if isinstance(node, exp.DataType) and getattr(node.this, "name", "") not in TYPES:
            raise UnreadableSqlError("it has a type that is not let through")
        if isinstance(node, exp.Table) and not all(isinstance(part, exp.Identifier) for part in node.parts):
            raise UnreadableSqlError("it reads from something that is not a table's name")


def _check_names(tree: exp.Expr, dialect: str) -> None:
    """Refuse names that are more than names in this dialect or another."""
    from sqlglot import exp

    for node in tree.find_all(exp.Identifier, exp.Table, exp.Column):
        name = node.name.lower()
        if isinstance(node, exp.Identifier):
            if dialect in _NOTHING_ENDS_A_STATEMENT and not node.args.get("quoted") and name in STATEMENTS:
                raise UnreadableSqlError(f"{name!r} can be where another statement begins")
        elif isinstance(node, exp.Column):
            if node.table and name == "nextval":
                raise UnreadableSqlError("it takes the next value of a sequence, as Oracle writes it")
        elif dialect not in _USER_IS_A_NAME and name in CALLED_BARE and not node.this.args.get("quoted"):
            raise UnreadableSqlError(f"it calls {name!r} as if it were a table")


def _check_function(node: exp.Func, functions: frozenset[str]) -> None:
    from sqlglot import exp

    names = {node.name} if isinstance(node, exp.Anonymous) else set(node.sql_names())
    allowed = {name.lower() for name in names if isinstance(name, str)} & (FUNCTIONS | functions)
    if not allowed:
        raise UnreadableSqlError(f"it calls a function that is not let through: {min(map(str, names), default='?')}")


_Key = tuple[str, bool]


def _tables(node: exp.Expr, defined: frozenset[_Key]) -> Iterator[TableName]:
    """The tables below a node. A name counts as defined in the statement only where every database says so.

    Databases differ on whether a `WITH` that is not recursive may name itself or what stands behind it. There
    the name counts as a table, for which the caller needs the right.
    """
    from sqlglot import exp

    if isinstance(node, exp.Insert | exp.Update | exp.Delete):
        # What is written to is never what the statement defines.
        yield from _tables(node.this, frozenset())
    with_ = next((part for part in node.args.values() if isinstance(part, exp.With)), None)
    if with_ is not None:
        for cte in with_.expressions:
            key = _key(cte.args["alias"].this)
            yield from _tables(cte.this, defined | {key} if with_.args.get("recursive") else defined)
            defined |= {key}
    if isinstance(node, exp.Table):
        parts = tuple(_key(part) for part in node.parts)
        if len(parts) > 1 or parts[0] not in defined:
            yield TableName(parts)
    written_to = node.this if isinstance(node, exp.Insert | exp.Update | exp.Delete) else None
    for part in node.iter_expressions():
        if part is not with_ and part is not written_to:
            yield from _tables(part, defined)


def _key(identifier: Any) -> _Key:
    return str(identifier.name), bool(identifier.args.get("quoted"))
