"""The parts of SQL that are let through, by the names that sqlglot gives them. What is not listed is not."""

from __future__ import annotations

from typing import Final

__all__ = ["ARGUMENTS", "CALLED_BARE", "FUNCTIONS", "NODES", "STATEMENTS", "TYPES", "WRITING_NODES"]

NODES: Final = frozenset(
    {
        *("Select", "Union", "Intersect", "Except", "Subquery", "With", "CTE", "Values", "Tuple", "Paren"),
        *("From", "Join", "Where", "Group", "Having", "Order", "Ordered", "Limit", "Offset", "Fetch", "Distinct"),
        *("Rollup", "Cube", "GroupingSets", "Window", "WindowSpec", "Filter", "WithinGroup", "Qualify"),
        *("Table", "TableAlias", "Alias", "Column", "Identifier", "Star", "Literal", "Boolean", "Null", "Var"),
        *("And", "Or", "Not", "EQ", "NEQ", "GT", "GTE", "LT", "LTE", "NullSafeEQ", "NullSafeNEQ", "Is"),
        *("Like", "ILike", "Escape", "Between", "In", "Exists", "Any", "All"),
        *("Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg", "DPipe", "SafeDPipe"),
        *("Case", "If", "Cast", "DataType", "DataTypeParam", "Interval"),
    }
)
"""What a query is made of: no function, no variable, no lock, no hint, nothing that names a file or a place."""

WRITING_NODES: Final = frozenset({"Insert", "Update", "Delete", "Schema", "Returning"})
"""What changes rows. Whatever changes anything else, or asks the database to do something, is never let through."""

ARGUMENTS: Final = {
    "Select": frozenset(
        {
            *("with_", "expressions", "distinct", "from_", "joins", "where", "group", "having", "windows", "qualify"),
            *("order", "limit", "offset"),
        }
    ),
    "Table": frozenset({"this", "db", "catalog", "alias", "joins", "only"}),
    "In": frozenset({"this", "expressions", "query"}),
    "Insert": frozenset({"with_", "this", "expression", "returning"}),
    "Update": frozenset({"with_", "this", "expressions", "from_", "where", "returning"}),
    "Delete": frozenset({"with_", "this", "using", "where", "returning"}),
}
"""What these parts may say. SQLite's `x IN secrets`, for one, reads a table without naming it as one."""

FUNCTIONS: Final = frozenset(
    {
        *("count", "sum", "avg", "min", "max", "total", "group_concat", "string_agg", "array_agg", "listagg"),
        *("stddev", "stddev_pop", "stddev_samp", "variance", "variance_pop", "var_pop", "median", "count_if"),
        *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"),
        *("lag", "lead", "first_value", "last_value", "nth_value"),
        *("abs", "round", "ceil", "floor", "sign", "sqrt", "power", "pow", "ln", "log", "exp", "mod"),
        *("coalesce", "nullif", "greatest", "least", "if", "cast", "try_cast"),
        *("lower", "upper", "length", "char_length", "trim", "substring", "left", "right", "concat", "concat_ws"),
        *("replace", "str_position"),
        *("current_date", "current_time", "current_timestamp", "extract", "date", "year", "month", "day"),
        *("date_trunc", "timestamp_trunc", "date_add", "date_sub", "date_diff", "datediff", "julianday"),
        *("time_to_str", "ts_or_ds_to_timestamp", "ts_or_ds_to_date", "datetime", "timestamp"),
    }
)
"""Functions that compute from their arguments alone.

None reads files or other tables, sleeps, writes, or tells of the server, its users and its settings. None is made to
repeat a text; what a long answer can be computed from all the same, as `replace` in `replace`, is like any slow query.
"""

TYPES: Final = frozenset(
    {
        *("INT", "BIGINT", "SMALLINT", "TINYINT", "UINT", "UBIGINT", "DECIMAL", "FLOAT", "DOUBLE", "BOOLEAN"),
        *("TEXT", "CHAR", "NCHAR", "VARCHAR", "NVARCHAR", "UUID", "INTERVAL"),
        *("DATE", "TIME", "DATETIME", "DATETIME2", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMETZ"),
    }
)
"""Types of plain values. A cast to PostgreSQL's `regclass` would look a table up."""

STATEMENTS: Final = frozenset(
    {
        *("alter", "backup", "begin", "break", "bulk", "checkpoint", "close", "commit", "continue", "create", "dbcc"),
        *("deallocate", "declare", "delete", "deny", "disable", "drop", "enable", "end", "exec", "execute", "fetch"),
        *("get", "go", "goto", "grant", "if", "insert", "kill", "merge", "move", "open", "print", "raiserror"),
        *("readtext", "receive", "reconfigure", "restore", "return", "revert", "revoke", "rollback", "save", "send"),
        *("set", "shutdown", "throw", "truncate", "update", "updatetext", "use", "waitfor", "while", "writetext"),
    }
)
"""The words that statements of Transact-SQL begin with (its reference, "Statements"), where none ends the one before.

`SELECT 1 DELETE FROM t` is two statements there, and one for a reader that takes `DELETE` for the name of a column.
"""

CALLED_BARE: Final = frozenset(
    {
        *("current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp"),
        *("current_user", "localtime", "localtimestamp", "session_user", "system_user", "user"),
    }
)
"""What PostgreSQL and others call as a function without brackets, also where a table stands.

`SELECT u.lo_import FROM user AS u` hands the user's name to a function.
"""
