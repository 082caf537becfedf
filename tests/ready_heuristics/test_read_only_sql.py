"""Read-only SQL, per dialect: one plain query is approved, and what is not plainly one is left to a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ready_heuristics.asking import says_yes
from toolgate_langchain.approvals.ready_heuristics import ReadOnlySql
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.sql import UnreadableSqlError, read_sql

DIALECTS = ["postgresql", "sqlite", "mysql", "mssql", "duckdb"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "select count(*) from orders;",
        "SELECT a, sum(b) AS s FROM t JOIN u ON t.id = u.id WHERE a LIKE 'x%' AND b BETWEEN 1 AND 2 GROUP BY a",
        "WITH x AS (SELECT a FROM t) SELECT * FROM x WHERE a IN (SELECT b FROM u)",
        "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1",
        "SELECT coalesce(a, lower(b)), CASE WHEN a > 1 THEN 'x' ELSE 'y' END FROM t",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
        "SELECT 'insert; delete; drop' FROM t",
    ],
)
def test_a_query_of_listed_parts_is_approved(dialect: str, query: str) -> None:
    assert says_yes(ReadOnlySql("act", "query", dialect), query=query)


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "DROP TABLE t",
        "TRUNCATE TABLE t",
        "CREATE TABLE t (a int)",
        "ALTER TABLE t ADD COLUMN b int",
        "GRANT ALL ON t TO x",
        "MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE",
        "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
        "SELECT * INTO copied FROM t",
        "SELECT * FROM t FOR UPDATE",
        "SELECT 1; DELETE FROM t",
        "EXPLAIN ANALYZE DELETE FROM t",
        "CALL f()",
        "SET x = 1",
        "BEGIN",
        "COMMIT",
        "SELECT f(1)",
        "SELECT public.lower('A')",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT current_user",
        "SELECT repeat('x', 1000000000)",
        "SELECT ?",
        "SELECT :x",
        "SELECT 1 -- comment",
        "SELECT 1 /* comment */",
        "SELECT 1 /*! DELETE FROM t */",
        "SELECT 1 # comment",
        "SELECT 'a",
        "SELECT (1",
        "SELEC 1",
        "",
        ";",
        "SELECT 1\0",
        "SELECT '" + "a" * 10_000 + "'",
        "SELECT " + "(" * 41 + "1" + ")" * 41,
        "SELECT " + "NOT " * 2_000 + "1",
        "SELECT " + "1+" * 3_000 + "1",
    ],
)
def test_anything_else_is_left_to_a_person(query: str) -> None:
    assert [dialect for dialect in DIALECTS if says_yes(ReadOnlySql("act", "query", dialect), query=query)] == []


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("postgresql", "COPY t TO '/tmp/x'"),
        ("postgresql", "SELECT pg_read_file('/etc/passwd')"),
        ("postgresql", "SELECT pg_sleep(100)"),
        ("postgresql", "SELECT lo_import('/etc/passwd')"),
        ("postgresql", "SELECT dblink('x', 'y')"),
        ("postgresql", "SELECT query_to_xml('DELETE FROM t', true, true, '')"),
        ("postgresql", "SELECT nextval('s')"),
        ("postgresql", "SELECT 'users'::regclass"),
        ("postgresql", "SELECT E'\\'' FROM t"),
        ("postgresql", "SELECT $$a$$"),
        ("postgresql", "DO $$ BEGIN END $$"),
        ("postgresql", "LOCK TABLE t"),
        ("sqlite", "PRAGMA user_version = 1"),
        ("sqlite", "ATTACH 'x' AS y"),
        ("sqlite", "SELECT load_extension('x')"),
        ("sqlite", "SELECT writefile('x', 'y')"),
        ("sqlite", "SELECT * FROM t WHERE a IN secrets"),
        ("sqlite", "VACUUM INTO 'x'"),
        ("sqlite", "SELECT zeroblob(1000000000)"),
        ("sqlite", "REPLACE INTO t VALUES (1)"),
        ("mysql", "SELECT * FROM t INTO OUTFILE '/tmp/x'"),
        ("mysql", "SELECT load_file('/etc/passwd')"),
        ("mysql", "SELECT sleep(100)"),
        ("mysql", "SELECT benchmark(1000000000, md5('x'))"),
        ("mysql", "SELECT @@version"),
        ("mysql", "SELECT @x"),
        ("mssql", "SELECT @x"),
        ("mysql", "SELECT 'a\\' OR 1=1'"),
        ("mssql", "EXEC xp_cmdshell 'x'"),
        ("mssql", "SELECT * FROM OPENROWSET('x', 'y', 'z')"),
        ("duckdb", "SELECT * FROM read_csv('/etc/passwd')"),
        ("duckdb", "INSTALL httpfs"),
    ],
)
def test_what_a_database_has_of_its_own_is_left_to_a_person(dialect: str, query: str) -> None:
    assert not says_yes(ReadOnlySql("act", "query", dialect), query=query)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "part", ["JOIN t ", "JOIN t JOIN ", "LEFT JOIN t ", "CROSS JOIN ", "(SELECT ", "a BETWEEN ", "x::"]
)
def test_a_statement_that_can_be_read_in_very_many_ways_is_given_up(dialect: str, part: str) -> None:
    """Each `JOIN` without its condition doubles the ways in which sqlglot tries to read the statement."""
    heuristic, started = ReadOnlySql("act", "query", dialect), process_time()
    for count in (30, 50, 1_000):
        assert not says_yes(heuristic, query=("SELECT " + part * count)[:10_000])
    assert process_time() - started < 5
    joined = " ".join(f"JOIN t{number} ON t{number}.a = t.b" for number in range(30))
    assert says_yes(heuristic, query=f"SELECT * FROM t {joined}")


def test_where_tables_are_named_a_query_reads_those_alone() -> None:
    heuristic = ReadOnlySql("act", "query", "postgres", tables=["orders", "sales.items"])
    assert says_yes(heuristic, query="WITH x AS (SELECT * FROM orders) SELECT * FROM x JOIN sales.items USING (id)")
    for query in ("SELECT * FROM users", "SELECT * FROM items", "SELECT * FROM sales.orders", "SELECT * FROM Orders",
                  "SELECT (SELECT max(id) FROM users) FROM orders", "TABLE users", "SELECT * FROM pg_catalog.pg_class",
                  "WITH orders AS (SELECT * FROM users) SELECT * FROM orders"):  # fmt: skip
        assert not says_yes(heuristic, query=query)
    assert says_yes(heuristic, query="SELECT 1")


@pytest.mark.parametrize("value", [None, 5, True, ["SELECT 1"], {"query": "SELECT 1"}, "\ud800"])
def test_anything_but_a_text_is_left_to_a_person(value: Any) -> None:
    assert not says_yes(ReadOnlySql("act", "query", "sqlite"), query=value)


def test_a_dialect_is_one_that_is_known() -> None:
    for name in ("", "oracle8", "SQL"):
        with pytest.raises(ConfigurationError, match="there is no SQL dialect"):
            ReadOnlySql("act", "query", name)
    with pytest.raises(ConfigurationError, match="lists of names"):
        ReadOnlySql("act", "query", "sqlite", tables="orders")


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[sqlite3.Connection, set[tuple[int, str | None]]]]:
    """A database, and what SQLite itself says that a statement does, besides reading the table `t` and computing."""
    connection = sqlite3.connect(":memory:")
    connection.executescript("CREATE TABLE t (a, b); CREATE TABLE secrets (a); INSERT INTO t VALUES (1, 2)")
    said: set[tuple[int, str | None]] = set()
    harmless = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

    def authorise(action: int, first: str | None, *_: Any) -> int:
        if action not in harmless and not (action == sqlite3.SQLITE_READ and first == "t"):
            said.add((action, first))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorise)
    yield connection, said
    connection.close()


PIECES = st.sampled_from(
    [
        *(
            "SELECT ",
            "a",
            "b",
            "*",
            "1",
            ",",
            " FROM ",
            "t",
            "secrets",
            "sqlite_master",
            " WHERE ",
            " IN ",
            "(",
            ")",
            ";",
        ),
        *(
            " UNION ",
            "WITH t AS (",
            "WITH secrets AS (",
            " JOIN ",
            "main.",
            '"secrets"',
            "[secrets]",
            "'secrets'",
            "--",
            "/*",
        ),
        *(
            "*/",
            " DELETE FROM t",
            " RETURNING a",
            "count(a)",
            "max((SELECT a FROM secrets))",
            " LIMIT 1",
            " AS secrets",
            ".",
        ),
    ]
)
QUERIES = st.one_of(
    st.lists(PIECES, max_size=14).map("".join),
    st.tuples(st.just("SELECT a FROM t"), st.lists(PIECES, max_size=6).map("".join)).map("".join),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(QUERIES)
def test_sqlite_itself_finds_nothing_but_reading_of_the_named_tables_in_what_is_approved(
    guarded: tuple[sqlite3.Connection, set[tuple[int, str | None]]], query: str
) -> None:
    """The reference is the database: it says of each statement what it reads and does."""
    connection, said = guarded
    if not says_yes(ReadOnlySql("act", "query", "sqlite", tables=["t"]), query=query):
        return
    said.clear()
    try:
        rows = connection.execute(query).fetchall()
    except sqlite3.Error:
        return
    assert said == set()
    assert connection.execute(read_sql(query, "sqlite").text).fetchall() == rows, "written anew it says the same"


@pytest.mark.parametrize(
    "query",
    [
        "select a, b from t where a between 0 and 5 and b is not null order by a desc limit 1 offset 0",
        "select t.a, u.b as x from t left join t as u on t.a = u.b or not t.a = 1 group by t.a having count(*) > 0",
        "with x(n) as (select a from t union all select b from t) select n, sum(n) over (order by n) from x",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select max(i), avg(i) from n",
        "select substr('abc', 2), length('a'), coalesce(null, a), ifnull(null, 3), nullif(1, 1), round(1.55, 1) from t",
        "select strftime('%Y', '2026-01-02'), date('2026-01-31', '+1 month'), datetime('2026-01-02')",
        "select a || b, -a, a % 2, a / 2, cast(a as text), case a when 1 then 'x' else 'y' end, 'it''s', \"a\" from t",
        "select group_concat(distinct a), total(b), min(a), count(*) from t where a in (select a from t)",
        "select trim('  a '), replace('aba', 'a', 'c'), instr('abc', 'c'), upper('a'), iif(a > 0, 1, 2) from t",
        "select row_number() over (partition by a order by b), lag(a, 1) over (order by a) from t",
        "select * from (select a from t except select 9 intersect select 1) as x cross join t",
        "select a from t where b like 'A%' escape '!' or b glob 'x' collate nocase",
    ],
)
def test_a_statement_written_anew_gives_what_the_statement_gives(
    guarded: tuple[sqlite3.Connection, set[tuple[int, str | None]]], query: str
) -> None:
    connection, _ = guarded
    try:
        text = read_sql(query, "sqlite").text
    except UnreadableSqlError:
        assert "glob" in query, "all but this one are read"
        return
    assert connection.execute(text).fetchall() == connection.execute(query).fetchall()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "query",
    ["CALL f('hidden')", "SHOW hidden", "VACUUM FULL hidden", "EXPLAIN ANALYZE DELETE FROM hidden"],
)
def test_a_refused_statement_stands_in_no_log(dialect: str, query: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0):
        assert not says_yes(ReadOnlySql("act", "query", dialect), query=query)
    assert "hidden" not in caplog.text
