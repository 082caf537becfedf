"""Resources, on langchain-community's SQL toolkit and a real database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from tests.support import call, chat, says
from tests.toolkits.conftest import ADMIN, ANN, BOB, Calls
from toolgate_langchain import Caller, ResourcePolicy, Tier, ToolGate
from toolgate_langchain.catalog.profile import profile_of
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.toolkits import SqlResources

POLICY = ResourcePolicy(denied=["vault"], admin_only=["salaries"], rights={"ann": ["orders", "vault", "salaries"]})
RESOURCES = SqlResources(POLICY)


@pytest.fixture
def sql(sql_tools: list[BaseTool], calls: Callable[..., Calls]) -> Calls:
    return calls(RESOURCES.tools(sql_tools))


@pytest.fixture
def writing(sql_tools: list[BaseTool], calls: Callable[..., Calls]) -> Calls:
    return calls(SqlResources(POLICY, read_only=False).tools(sql_tools))


@pytest.mark.parametrize(
    ("caller", "listed"), [(ADMIN, "orders, salaries"), (ANN, "orders"), (BOB, ""), (None, "")], ids=str
)
def test_what_is_listed_is_what_can_be_described_and_queried(sql: Calls, caller: Caller | None, listed: str) -> None:
    assert sql(caller, "sql_db_list_tables") == listed
    for table in ("orders", "salaries", "vault", "sqlite_master", "nothing"):
        described = sql(caller, "sql_db_schema", table_names=table)
        queried = sql(caller, "sql_db_query", query=f"SELECT count(*) FROM {table}")
        if table in listed.split(", "):
            assert f"CREATE TABLE {table}" in described and queried.startswith("[(")
        else:
            assert described == queried == f"Error: no such table: {table}"


@pytest.mark.parametrize("caller", [ADMIN, ANN, BOB, None], ids=str)
@pytest.mark.parametrize(
    "question",
    [
        ("sql_db_schema", "table_names", "{}"),
        ("sql_db_schema", "table_names", "orders, {}"),
        ("sql_db_query", "query", "SELECT * FROM {}"),
        ("sql_db_query", "query", "SELECT missing FROM {} WHERE 1=0"),
        ("sql_db_query", "query", "SELECT * FROM orders JOIN {} USING (id)"),
        ("sql_db_query", "query", "WITH x AS (SELECT 1) SELECT * FROM x, main.{}"),
        ("sql_db_query", "query", "SELECT (SELECT max(id) FROM {})"),
        ("sql_db_query", "query", "DELETE FROM {}"),
    ],
)
def test_a_denied_table_answers_exactly_like_one_that_does_not_exist_for_admins_too(
    sql: Calls, caller: Caller | None, question: tuple[str, str, str]
) -> None:
    name, argument, text = question
    denied = sql(caller, name, **{argument: text.format("vault")})
    unknown = sql(caller, name, **{argument: text.format("vau1t")})
    assert denied.replace("vault", "NAME") == unknown.replace("vau1t", "NAME")
    assert denied.startswith("Error: ")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM VAULT",
        'SELECT * FROM "Vault"',
        "SELECT * FROM [vault]",
        "SELECT * FROM `vault`",
        "SELECT * FROM main.vault",
        "SELECT * FROM orders, vault",
        "SELECT * FROM orders WHERE id IN vault",
        "SELECT * FROM orders WHERE id IN (SELECT id FROM vault)",
        "SELECT item FROM orders UNION SELECT word FROM vault",
        "WITH vault AS (SELECT * FROM vault) SELECT * FROM vault",
        "SELECT * FROM (WITH vault AS (SELECT 1) SELECT * FROM vault) AS x, vault",
        "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM vault) SELECT * FROM a",
        "SELECT/**/*/**/FROM/**/vault",
        "SELECT * FROM orders; SELECT * FROM vault",
        "SELECT * FROM orders /* ; */ ; SELECT * FROM vault --",
        "SELECT sql FROM sqlite_master",
        "SELECT name FROM pragma_table_list",
        "SELECT * FROM pragma_table_info('vault')",
        "PRAGMA table_info(vault)",
        "SELECT load_extension('x')",
        "EXPLAIN SELECT * FROM vault",
        "ATTACH 'x' AS y",
        "CREATE VIEW shown AS SELECT * FROM vault",
        "VACUUM INTO 'copy'",
        "SELECT writefile('x', 'y')",
        "SELEC * FROM orders",
        "SELECT * FROM orders WHERE item = 'apples",
        "",
        ";",
        "SELECT 1" + " " * 10_000,
        "SELECT " + "(" * 50 + "1" + ")" * 50,
    ],
)
def test_no_way_of_writing_it_reads_a_denied_table_or_the_databases_own(sql: Calls, query: str) -> None:
    for caller in (ADMIN, ANN):
        said = sql(caller, "sql_db_query", query=query)
        assert said.startswith("Error: ") and "sesame" not in said
    assert sql(ANN, "sql_db_query", query="SELECT item FROM orders ORDER BY id") == "[('apples',), ('pears',)]"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*) AS n FROM Orders;", "[(2,)]"),
        ("WITH mine AS (SELECT * FROM orders) SELECT item FROM mine WHERE id = 1 -- vault", "[('apples',)]"),
        ("SELECT upper(item) FROM orders WHERE item LIKE 'p%'", "[('PEARS',)]"),
        ("SELECT 'vault' FROM orders LIMIT 1", "[('vault',)]"),
        ("SELECT vault.item FROM orders AS vault WHERE vault.id = 2", "[('pears',)]"),
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT max(i) FROM n",
            "[(3,)]",
        ),
    ],
)
def test_a_query_on_permitted_tables_runs(sql: Calls, query: str, rows: str) -> None:
    assert sql(ANN, "sql_db_query", query=query) == rows


def test_a_schema_says_nothing_of_the_tables_that_it_refers_to(sql: Calls) -> None:
    for caller in (ADMIN, ANN):
        schema = sql(caller, "sql_db_schema", table_names="orders")
        assert "REFERENCES" not in schema and "vault (" not in schema and "apples" in schema


@pytest.mark.parametrize(
    "query", ["INSERT INTO orders (id) VALUES (3)", "UPDATE orders SET item = 'x'", "DELETE FROM orders"]
)
def test_rows_are_changed_only_where_that_is_let_through(sql: Calls, writing: Calls, query: str) -> None:
    before = sql(ANN, "sql_db_query", query="SELECT * FROM orders")
    assert sql(ANN, "sql_db_query", query=query).startswith("Error: ")
    assert sql(ANN, "sql_db_query", query="SELECT * FROM orders") == before
    assert writing(ANN, "sql_db_query", query=query) == ""
    assert sql(ANN, "sql_db_query", query="SELECT * FROM orders") != before
    assert writing(ANN, "sql_db_query", query=query.replace("orders", "vault")) == "Error: no such table: vault"


@pytest.mark.parametrize(
    "query",
    [
        "WITH vault AS (SELECT 1) INSERT INTO vault SELECT 9, 'x'",
        "INSERT INTO orders SELECT id, word, 1 FROM vault",
        "UPDATE orders SET item = (SELECT word FROM vault)",
        "DROP TABLE orders",
        "ALTER TABLE orders ADD COLUMN x",
        "INSERT OR REPLACE INTO orders VALUES (1, 'x', 1)",
        "CREATE TABLE x AS SELECT * FROM vault",
    ],
)
def test_a_change_reads_and_writes_permitted_tables_only_and_changes_nothing_but_rows(
    writing: Calls, query: str
) -> None:
    assert writing(ADMIN, "sql_db_query", query=query).startswith("Error: ")
    assert writing(ADMIN, "sql_db_query", query="SELECT count(*) FROM orders") == "[(2,)]"


def test_why_the_database_refuses_a_change_is_not_told(database: Any, writing: Calls) -> None:
    database.run("CREATE TRIGGER kept BEFORE DELETE ON orders BEGIN SELECT RAISE(ABORT, 'vault refers to it'); END")
    said = writing(ANN, "sql_db_query", query="DELETE FROM orders")
    assert said == "Error: the database did not make this change."
    assert "no such column" in writing(ANN, "sql_db_query", query="SELECT missing FROM orders")


def test_a_further_function_is_let_through_by_name(sql_tools: list[BaseTool], calls: Callable[..., Calls]) -> None:
    more = calls(SqlResources(POLICY, functions=["HEX"]).tools(sql_tools))
    assert more(ANN, "sql_db_query", query="SELECT hex('a')") == "[('61',)]"
    assert more(ANN, "sql_db_query", query="SELECT typeof(1)").startswith("Error: ")


def test_outside_of_a_run_nobody_is_calling(sql_tools: list[BaseTool]) -> None:
    query, schema, listing = RESOURCES.tools(sql_tools)
    assert query.invoke({"query": "SELECT * FROM orders"}) == "Error: no such table: orders"
    assert schema.invoke({"table_names": "orders"}) == "Error: no such table: orders"
    assert listing.invoke({}) == ""


def test_only_the_toolkits_own_tools_are_taken(sql_tools: list[BaseTool]) -> None:
    @tool
    def sql_db_query(query: str) -> str:
        """Run anything."""
        return query

    with pytest.raises(ConfigurationError, match="is no tool of langchain-community's SQL database toolkit"):
        RESOURCES.tools([*sql_tools, sql_db_query])
    tiers = {one.name: profile_of(one) for one in RESOURCES.tools(sql_tools)}
    profile = tiers["sql_db_query"]
    assert profile is not None and profile.tier is Tier.READ_ONLY
    (may_write,) = SqlResources(POLICY, read_only=False).tools(sql_tools[:1])
    changed = profile_of(may_write)
    assert changed is not None and changed.tier is Tier.CONSEQUENTIAL


def test_behind_the_gate_a_person_sees_the_statement_that_runs_and_is_not_asked_about_a_refused_one(
    sql_tools: list[BaseTool], database: Any
) -> None:
    resources = SqlResources(POLICY, read_only=False)
    script = [
        says(call("sql_db_query", "c1", query="delete from vault")),
        says(call("sql_db_query", "c2", query="delete from nothing")),
        says(call("sql_db_query", "c3", query="delete from orders where id=1 -- tidy up")),
        says(text="done"),
    ]
    talk = chat(script, resources.tools(sql_tools), gate=ToolGate(argument_policies=[resources]),
                surface="chat", caller=ANN)  # fmt: skip
    talk.say()
    assert (
        talk.result("c1")
        == talk.result("c2")
        == "The call of 'sql_db_query' was not executed. It is not permitted here."
    )
    assert talk.request.arguments == {"query": "DELETE FROM orders WHERE id = 1"}
    talk.answer()
    assert talk.result("c3") == ""
    assert database.run("SELECT id FROM orders") == "[(2,)]"


def test_an_asynchronous_agent_runs_for_its_caller_too(sql_tools: list[BaseTool]) -> None:
    script = [says(call("sql_db_query", "c", query="SELECT item FROM orders WHERE id = 2")), says(text="done")]
    talk = chat(script, RESOURCES.tools(sql_tools), gate=ToolGate(), surface="chat", caller=ANN, asynchronous=True)
    talk.say()
    assert talk.result("c") == "[('pears',)]"
