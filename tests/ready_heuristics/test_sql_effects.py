"""What a database can do besides reading its tables, in each database's own words: every one of them is asked about.

An effect stands where an expression, a table or a statement stands, in 200 variations for each database; beside
them the same statements without it, which are approved.
"""

from __future__ import annotations

import random
from typing import Final

import pytest
from sqlglot.dialects.dialect import Dialect

from tests.ready_heuristics.asking import says_yes
from tests.ready_heuristics.sql_effects import AROUND_TABLES, AROUND_VALUES, CALLS, TABLES, WHOLE
from tests.redteam.variations import variations
from toolgate_langchain.approvals.ready_heuristics import ReadOnlySql
from toolgate_langchain.policy.sql import check_dialect
from toolgate_langchain.policy.sql_words import CALLED_BARE, STATEMENTS

BLANKS: Final = (" ", "  ", "\n", "\t", "\r\n")


def _written(chance: random.Random, text: str) -> str:
    """The same statement in another writing: letters' sizes outside of quotes, blanks, and an end."""
    quoted, parts = False, []
    for character in text:
        quoted ^= character == "'"
        if quoted:
            parts.append(character)  # what a value is stays as it is
        elif character == " ":
            parts.append(chance.choice(BLANKS))
        else:
            parts.append(character.upper() if chance.random() < 0.3 else character)
    return chance.choice(("", "", " ")) + "".join(parts) + chance.choice(("", "", ";", " ; "))


def _an_effect(chance: random.Random, dialect: str) -> str:
    kind = chance.randrange(3)
    if kind == 0:
        return _written(chance, chance.choice(AROUND_VALUES).format(chance.choice(CALLS[dialect])))
    if kind == 1:
        return _written(chance, chance.choice(AROUND_TABLES).format(chance.choice(TABLES[dialect])))
    return _written(chance, chance.choice(WHOLE[dialect]))


@pytest.mark.parametrize("dialect", sorted(CALLS))
def test_whatever_does_more_than_read_tables_is_asked_about_in_200_variations(dialect: str) -> None:
    heuristic = ReadOnlySql("act", "query", dialect)
    hostile = variations(lambda chance: _an_effect(chance, dialect))
    assert [query for query in hostile if says_yes(heuristic, query=query)] == []


@pytest.mark.parametrize("dialect", sorted(CALLS))
def test_every_single_effect_is_asked_about(dialect: str) -> None:
    heuristic = ReadOnlySql("act", "query", dialect)
    queries = [f"SELECT {one} FROM t" for one in CALLS[dialect]]
    queries += [f"SELECT * FROM {one}" for one in TABLES[dialect]] + WHOLE[dialect]
    assert [query for query in queries if says_yes(heuristic, query=query)] == []


@pytest.mark.parametrize("dialect", sorted(CALLS))
def test_the_same_statements_without_an_effect_are_approved_in_200_variations(dialect: str) -> None:
    def harmless(chance: random.Random) -> str:
        if chance.randrange(2):
            return _written(chance, chance.choice(AROUND_VALUES).format(chance.choice(("a", "'x; DROP'", "abs(a)"))))
        return _written(chance, chance.choice(AROUND_TABLES).format(chance.choice(("t", "t AS y", "main.t"))))

    heuristic = ReadOnlySql("act", "query", dialect)
    assert [query for query in variations(harmless) if not says_yes(heuristic, query=query)] == []


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT 1 {}", "SELECT a FROM t {}", "SELECT a {} FROM t", "SELECT (SELECT 1) {} FROM t", "SELECT 'x' {}"),
        *(
            "SELECT a FROM t, u {}",
            "SELECT a FROM (SELECT 1 AS a) {}",
            "SELECT 1 AS {}",
            "SELECT a FROM t WHERE a = 1 {}",
        ),
    ],
)
def test_a_second_statement_that_nothing_parts_from_the_first_is_asked_about(query: str) -> None:
    """`SELECT 1 SHUTDOWN` is a name of a column to other databases and stops SQL Server."""
    heuristic = ReadOnlySql("act", "query", "mssql")
    written = [case(word) for word in sorted(STATEMENTS) for case in (str.lower, str.upper)]
    assert [word for word in written if says_yes(heuristic, query=query.format(word))] == []
    assert query.endswith("= 1 {}") or says_yes(heuristic, query=query.format("[delete]"))


@pytest.mark.parametrize(
    ("dialect", "query", "plain"),
    [
        ("duckdb", 'SELECT * FROM "/etc/passwd"', 'SELECT * FROM "etc passwd"'),
        ("duckdb", 'SELECT * FROM "https://a.example/x"', "SELECT * FROM x"),
        ("duckdb", "SELECT * FROM data.csv", "SELECT * FROM data.sheet"),
        ("duckdb", 'SELECT a FROM "x.parquet"', "SELECT a FROM parquet"),
        ("spark", "SELECT * FROM csv.`/etc/passwd`", "SELECT * FROM sales.`items`"),
        ("spark", "SELECT * FROM parquet.x", "SELECT * FROM sales.x"),
        ("oracle", "SELECT * FROM t@far", "SELECT * FROM far.t"),
        ("oracle", "SELECT s.nextval FROM dual", "SELECT s.next FROM dual"),
        ("mssql", "SELECT * FROM far.base.dbo.t", "SELECT * FROM base.dbo.t"),
    ],
)
def test_a_table_that_is_a_file_an_address_a_sequence_or_on_another_server_is_asked_about(
    dialect: str, query: str, plain: str
) -> None:
    heuristic = ReadOnlySql("act", "query", dialect)
    assert not says_yes(heuristic, query=query)
    assert says_yes(heuristic, query=plain)


@pytest.mark.parametrize("dialect", ["postgresql", "redshift", "oracle", "snowflake"])
@pytest.mark.parametrize("name", sorted(CALLED_BARE))
def test_a_function_without_brackets_in_the_place_of_a_table_is_asked_about(dialect: str, name: str) -> None:
    """`SELECT u.lo_import FROM user AS u` hands a name to a function in PostgreSQL."""
    heuristic = ReadOnlySql("act", "query", dialect)
    assert not says_yes(heuristic, query=f"SELECT u.lo_import FROM {name} AS u")
    assert not says_yes(heuristic, query=f"SELECT u.lo_import FROM t JOIN {name.upper()} u ON t.a = u.a")
    assert says_yes(heuristic, query=f'SELECT u.a FROM "{name}" AS u')


def test_a_function_that_is_named_in_quotes_is_asked_about() -> None:
    """PostgreSQL's `"Lower"(a)` is not `lower(a)`."""
    for dialect, query in (("postgresql", 'SELECT "Lower"(a) FROM t'), ("mysql", "SELECT `lower` (a) FROM t"),
                           ("mssql", "SELECT [lower](a) FROM t")):  # fmt: skip
        assert not says_yes(ReadOnlySql("act", "query", dialect), query=query)
        unquoted = query.translate({ord(sign): None for sign in '"`[]'})
        assert says_yes(ReadOnlySql("act", "query", dialect), query=unquoted)


@pytest.mark.parametrize("dialect", sorted(CALLS))
def test_no_function_of_the_parsers_own_makes_it_raise(dialect: str) -> None:
    """For some, as `VAR_MAP(1, 2, 3)`, sqlglot raises no error of its own; a heuristic that raises ends the run."""
    kind = Dialect.get_or_raise(check_dialect(dialect)).parser_class
    heuristic = ReadOnlySql("act", "query", dialect)
    names = sorted({*kind.FUNCTIONS, *kind.FUNCTION_PARSERS, *kind.NO_PAREN_FUNCTION_PARSERS})
    given = ("", "a", "a, 1, 2")
    said = [says_yes(heuristic, query=f"SELECT {name}({arguments})") for name in names for arguments in given]
    assert True in said and False in said
