"""The SQL database toolkit of langchain-community behind a resource policy."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.catalog.checks import listed_names
from toolgate_langchain.catalog.wellknown import well_known_profiles
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.toolkits.guarded import GuardedTool, guarded, guarded_tool
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.resources import ResourcePolicy
from toolgate_langchain.policy.sql import SqlStatement, UnreadableSqlError, check_dialect, read_sql
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.arguments import ArgumentView
    from toolgate_langchain.policy.caller import Caller
    from toolgate_langchain.policy.sql import TableName

__all__ = ["SqlResources"]

_IGNORES_CASE: Final = frozenset({"sqlite", "duckdb"})
"""Databases in which a table's name has no case, in quotes or not, whatever is configured."""

_QUOTES_ARE_KNOWN: Final = frozenset({"sqlite", "duckdb", "postgres", "mysql", "tsql"})
"""Databases of which it is known here how quotes change a name's case. Elsewhere a quoted name is unknown."""

_TOOLS: Final = ("sql_db_query", "sql_db_schema", "sql_db_list_tables", "sql_db_query_checker")
_UNREADABLE: Final = "Error: the statement cannot be run here. Write one plain statement without further functions."
_NOT_FOUND: Final = "Error: no such table: "
_REFUSED: Final = "Error: the database did not make this change."
_ALLOWED: Final = PolicyAnswer(Verdict.ALLOW)
_FOREIGN_KEY: Final = re.compile(r"REFERENCES\s+([^\s(]+)\s*\(")


class SqlResources:
    """The tools of `SQLDatabaseToolkit`, on the tables that the caller of a run may use.

    Listing, describing and querying ask one policy. A table that may not be used is answered like one that does
    not exist, and so is what is not in the database's `get_usable_table_names()`: the database's own tables,
    tables of other schemas, tables made later.

    A statement is read in the database's dialect. Only what `policy.sql_words` lists is let through; anything
    else, several statements, and what cannot be read is refused. What runs is the statement written anew from
    what was read, without comments. A schema that is shown leaves out what it says of other tables.

    It is an argument policy too. In `ToolGate(argument_policies=[...])` it puts the statement written anew in
    the place of the model's, so that a person sees what runs, and refuses before anybody is asked.

    What it hides are tables, whole. Every column of a permitted table is described and can be queried, also one
    that is named like a secret: give the caller a view without it, and deny the table.

    It does not protect from what a permitted view or table shows of others; from functions and operators that
    somebody defined in the database under names of its own; from a slow query; or from what a database user
    with more rights than needed may do in a way that nobody thought of: give the tools a user that can only do
    what they should.

    Args:
        policy: Which tables a caller may use; names are those of `get_usable_table_names()`.
        read_only: Whether only queries are let through. Then the tool that runs them is classified read-only.
        functions: Functions to let through besides those that compute from their arguments alone.

    Raises:
        MissingExtraError: If sqlglot is not installed (extra `sql-policy`).
    """

    __name__ = "sql resources"

    def __init__(self, policy: ResourcePolicy, *, read_only: bool = True, functions: Collection[str] = ()) -> None:
        if not isinstance(policy, ResourcePolicy):
            raise ConfigurationError(f"policy is {policy!r}, which is not a ResourcePolicy")
        if not isinstance(read_only, bool):
            raise ConfigurationError(f"read_only is {read_only!r}; it must be True or False")
        self._policy, self._read_only = policy, read_only
        self._functions = frozenset(name.lower() for name in listed_names("functions", functions))
        check_dialect("sqlite")

    def tools(self, tools: Sequence[BaseTool]) -> list[BaseTool]:
        """The toolkit's tools behind the policy, in their order, for the agent to be given in their place.

        Args:
            tools: What `SQLDatabaseToolkit.get_tools()` gave, or some of it.

        Raises:
            ConfigurationError: If one is not a tool of the toolkit, or of a database whose dialect is not known.
        """
        known = well_known_profiles("langchain-community")
        profiles = {name: known[name] for name in _TOOLS}
        if self._read_only:
            reason = "runs one query of listed parts on permitted tables"
            profiles["sql_db_query"] = replace(profiles["sql_db_query"], tier=Tier.READ_ONLY, reason=reason)
        made = guarded(self, tools, profiles, "langchain-community's SQL database toolkit")
        for tool in tools:
            check_dialect(_database(tool).dialect)
        return made

    # --- as an argument policy ----------------------------------------------------------------

    def __call__(self, view: ArgumentView) -> PolicyAnswer:
        """Deny a call that the tool would refuse."""
        tool = guarded_tool(self, view.entry)
        refusal = None if tool is None else self._refusal(tool, view.arguments, view.caller)
        return _ALLOWED if refusal is None else PolicyAnswer(Verdict.DENY, refusal)

    def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The statement written anew; see `ResolvingPolicy`."""
        tool, query = guarded_tool(self, entry), arguments.get("query")
        if tool is None or tool.known_as != "sql_db_query" or not isinstance(query, str):
            return {}
        try:
            return {"query": self._read(query, tool).text}
        except UnreadableSqlError:
            return {"query": query}

    # --- as the tool --------------------------------------------------------------------------

    def run(
        self, tool: GuardedTool, arguments: dict[str, Any], caller: Caller | None, inner: Callable[..., Any]
    ) -> Any:
        """Run one call; see `Resources`."""
        if self._refusal(tool, arguments, caller) is not None:
            return self._answer(tool, arguments, caller)
        if tool.known_as == "sql_db_list_tables":
            return ", ".join(self._policy.visible(caller, _usable(tool)))
        if tool.known_as == "sql_db_schema":
            return self._without_other_tables(tool, caller, str(inner(**arguments)))
        if tool.known_as == "sql_db_query":
            statement = self._read(arguments["query"], tool)
            result = inner(query=statement.text)
            # Why a change is refused, as for a foreign key, can tell of tables that may not be used.
            return _REFUSED if statement.writes and str(result).startswith("Error:") else result
        return inner(**arguments)

    def _refusal(self, tool: GuardedTool, arguments: Mapping[str, Any], caller: Caller | None) -> str | None:
        """Why a call is refused, for operators; `None` where it is not."""
        if tool.known_as == "sql_db_schema":
            missing = self._missing(tool, caller, _listed(arguments))
            return f"{missing[0]!r}: {self._why_not(tool, caller, missing[0])}" if missing else None
        if tool.known_as != "sql_db_query":
            return None
        try:
            statement = self._read(arguments.get("query"), tool)
        except UnreadableSqlError as error:
            return str(error)
        for table in statement.tables:
            actual = self._actual(tool, table)
            if not self._policy.may(caller, actual, known=actual in _usable(tool)):
                return f"{str(table)!r}: {self._why_not(tool, caller, actual)}"
        return None

    def _answer(self, tool: GuardedTool, arguments: Mapping[str, Any], caller: Caller | None) -> str:
        """What the model is told of a refused call: of a denied table what it is told of an unknown one."""
        if tool.known_as == "sql_db_schema":
            return _NOT_FOUND + ", ".join(self._missing(tool, caller, _listed(arguments)))
        try:
            tables = self._read(arguments.get("query"), tool).tables
        except UnreadableSqlError:
            return _UNREADABLE
        missing = [
            str(table)
            for table in tables
            if not self._policy.may(caller, actual := self._actual(tool, table), known=actual in _usable(tool))
        ]
        return _NOT_FOUND + ", ".join(missing)

    def _read(self, query: Any, tool: GuardedTool) -> SqlStatement:
        if not isinstance(query, str):
            raise UnreadableSqlError("it is no text")
        statement = read_sql(query, check_dialect(_database(tool.inner).dialect), self._functions)
        if statement.writes and self._read_only:
            raise UnreadableSqlError("it changes rows, and only queries are let through")
        return statement

    def _missing(self, tool: GuardedTool, caller: Caller | None, names: Iterable[str]) -> list[str]:
        usable = _usable(tool)
        return [name for name in names if not self._policy.may(caller, name, known=name in usable)]

    def _why_not(self, tool: GuardedTool, caller: Caller | None, name: str) -> str:
        return self._policy.why_not(caller, name, known=name in _usable(tool)) or "it may be used"

    def _actual(self, tool: GuardedTool, table: TableName) -> str:
        """The name under which the database has a table; a name that it has not, where that is in doubt."""
        database = _database(tool.inner)
        *above, (name, quoted) = table.parts
        if above and [text for text, _ in above] != [getattr(database, "_schema", None)]:
            return str(table)
        dialect = check_dialect(database.dialect)
        if dialect in _IGNORES_CASE:
            return next((one for one in _usable(tool) if one.casefold() == name.casefold()), name)
        if dialect == "postgres" and not quoted:
            return name.lower()
        return f'"{name}"' if quoted and dialect not in _QUOTES_ARE_KNOWN else name

    def _without_other_tables(self, tool: GuardedTool, caller: Caller | None, shown: str) -> str:
        """A schema without the foreign keys that name tables which the caller may not use."""
        visible = {name.casefold() for name in self._policy.visible(caller, _usable(tool))}

        def tells(line: str) -> bool:
            found = _FOREIGN_KEY.search(line)
            return found is not None and found[1].rpartition(".")[2].strip('`"[]').casefold() not in visible

        return "\n".join(line for line in shown.split("\n") if not tells(line))


def _database(tool: BaseTool) -> Any:
    """The toolkit's `SQLDatabase`."""
    return tool.db  # type: ignore[attr-defined]  # only tools of the toolkit come here, and each has one


def _usable(tool: GuardedTool) -> list[str]:
    return list(_database(tool.inner).get_usable_table_names())


def _listed(arguments: Mapping[str, Any]) -> list[str]:
    """The names that the toolkit's own tool makes of its one text."""
    given = arguments.get("table_names")
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else [""]
