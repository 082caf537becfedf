"""Toolkits of langchain-community: files, SQL and Spark SQL, shell, requests, browser (looked at in 0.4.2)."""

from __future__ import annotations

from typing import Final

from toolgate_langchain.catalog.wellknown.record import WellKnownTool, consequential, read_only, routine

__all__ = ["TOOLS"]

_TOOLS: Final = "langchain_community.tools."
_FILES: Final = _TOOLS + "file_management."
_SQL: Final = _TOOLS + "sql_database.tool:"
_SPARK: Final = _TOOLS + "spark_sql.tool:"
_REQUESTS: Final = _TOOLS + "requests.tool:"
_BROWSER: Final = _TOOLS + "playwright."

_FILE_TOOLS: Final = (
    read_only("read_file", "reads one file, any on the disk without a root folder", _FILES + "read:ReadFileTool"),
    read_only("list_directory", "lists one folder", _FILES + "list_dir:ListDirectoryTool"),
    read_only("file_search", "lists file names below one folder", _FILES + "file_search:FileSearchTool"),
    consequential("write_file", "replaces a file's content without a copy", _FILES + "write:WriteFileTool"),
    consequential("copy_file", "replaces the file at its destination without a copy", _FILES + "copy:CopyFileTool"),
    consequential("move_file", "takes a file away and replaces another one", _FILES + "move:MoveFileTool"),
    consequential("file_delete", "deletes a file for good", _FILES + "delete:DeleteFileTool"),
)

_SQL_TOOLS: Final = (
    consequential(
        "sql_db_query",
        "runs any SQL statement, not only queries, and commits it",
        _SQL + "QuerySQLDatabaseTool",
        _SQL + "QuerySQLDataBaseTool",
        egress="configured",
    ),
    read_only(
        "sql_db_schema",
        "shows the columns and the first rows of named tables",
        _SQL + "InfoSQLDatabaseTool",
        egress="configured",
    ),
    read_only("sql_db_list_tables", "lists the tables' names", _SQL + "ListSQLDatabaseTool", egress="configured"),
    read_only(
        "sql_db_query_checker",
        "shows a statement to the configured model and runs nothing",
        _SQL + "QuerySQLCheckerTool",
        egress="configured",
    ),
)

_SPARK_TOOLS: Final = (
    consequential(
        "query_sql_db",
        "runs any Spark SQL statement, not only queries",
        _SPARK + "QuerySparkSQLTool",
        egress="configured",
    ),
    read_only(
        "schema_sql_db",
        "shows the columns and the first rows of named tables",
        _SPARK + "InfoSparkSQLTool",
        egress="configured",
    ),
    read_only("list_tables_sql_db", "lists the tables' names", _SPARK + "ListSparkSQLTool", egress="configured"),
    read_only(
        "query_checker_sql_db",
        "shows a statement to the configured model and runs nothing",
        _SPARK + "QueryCheckerTool",
        egress="configured",
    ),
)

_SHELL_TOOLS: Final = (
    consequential(
        "terminal",
        "runs any commands; its process may stay open, so that the same words mean something else later",
        _TOOLS + "shell.tool:ShellTool",
        egress="open",
        standing="never",
    ),
)

_REQUESTS_TOOLS: Final = (
    routine(
        "requests_get",
        "fetches any address, and can carry data away in it",
        _REQUESTS + "RequestsGetTool",
        egress="open",
        endpoints=("url",),
        standing="arguments",
    ),
    consequential("requests_post", "sends any data to any address", _REQUESTS + "RequestsPostTool", egress="open"),
    consequential("requests_patch", "changes what any address names", _REQUESTS + "RequestsPatchTool", egress="open"),
    consequential("requests_put", "replaces what any address names", _REQUESTS + "RequestsPutTool", egress="open"),
    consequential(
        "requests_delete",
        "deletes what any address names",
        _REQUESTS + "RequestsDeleteTool",
        egress="open",
        endpoints=("url",),
    ),
)

_BROWSER_TOOLS: Final = (
    routine(
        "navigate_browser",
        "opens any address with the browser's own logins, and can carry data away in it",
        _BROWSER + "navigate:NavigateTool",
        egress="open",
        endpoints=("url",),
        standing="arguments",
    ),
    routine(
        "previous_webpage",
        "loads a page again that was open before",
        _BROWSER + "navigate_back:NavigateBackTool",
        egress="configured",
    ),
    consequential(
        "click_element",
        "presses anything on a page: buy, send, delete",
        _BROWSER + "click:ClickTool",
        egress="open",
    ),
    read_only("current_webpage", "tells the open page's address", _BROWSER + "current_page:CurrentWebPageTool"),
    read_only("extract_text", "reads the open page's text", _BROWSER + "extract_text:ExtractTextTool"),
    read_only(
        "extract_hyperlinks", "reads the open page's links", _BROWSER + "extract_hyperlinks:ExtractHyperlinksTool"
    ),
    read_only("get_elements", "reads named parts of the open page", _BROWSER + "get_elements:GetElementsTool"),
)

TOOLS: Final[tuple[WellKnownTool, ...]] = (
    *_FILE_TOOLS,
    *_SQL_TOOLS,
    *_SPARK_TOOLS,
    *_SHELL_TOOLS,
    *_REQUESTS_TOOLS,
    *_BROWSER_TOOLS,
)
"""Tools that send a body take one text in which the address stands; it is no argument of its own, and none is
declared for them. `RequestsGetTool` and `NavigateTool` never get "this tool" remembered: one yes to one address is
no yes to all of them. `sql_db_query` has two classes; the older spelling is a subclass."""
