"""The databases that ledgers are tested on, all real: files of SQLite, and a PostgreSQL server that the tests start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias, cast

import pytest

import tests.ledger.quick  # noqa: F401  # from here on all ledgers are
from tests.ledger.databases import Databases, MadeDatabases, Postgres, below_a_loop, start_postgres
from tests.ledger.emptied import EmptyLedgers
from toolgate_langchain import InMemoryLedger, SqlLedger

MakeDatabases: TypeAlias = Callable[[Postgres | None], Databases]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, for as long as the tests run.

    Not below pytest's own folder: root's server runs as another user, and each pytest of root that starts takes that
    folder's rights away from everybody else, also while this one is at work.
    """
    with TemporaryDirectory(prefix="toolgate-postgres-") as made, start_postgres(Path(made)) as server:
        yield server


@pytest.fixture(scope="session")
def empty_ledgers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmptyLedgers]:
    """Databases that are ledgers already, with nothing in them."""
    with closing(EmptyLedgers(tmp_path_factory.mktemp("empty"))) as made:
        yield made


@pytest.fixture
def ready() -> bool:
    """Whether databases are ledgers already. Tests of how one becomes a ledger, or is lost, say otherwise."""
    return True


@pytest.fixture
def make_databases(empty_ledgers: EmptyLedgers, ready: bool, tmp_path: Path) -> Iterator[MakeDatabases]:
    """Makes databases of SQLite, or of a server."""
    with ExitStack() as kept:

        def make(server: Postgres | None) -> Databases:
            if not ready:
                return kept.enter_context(Databases(tmp_path, server))
            made = empty_ledgers.file(tmp_path) if server is None else kept.enter_context(empty_ledgers.schema(server))
            return kept.enter_context(MadeDatabases(tmp_path, server, made))

        yield make


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, make_databases: MakeDatabases) -> Databases:
    """Databases of both kinds in turn, and ledgers on them."""
    return make_databases(request.getfixturevalue("postgres") if request.param == "postgresql" else None)


@pytest.fixture
def sqlite(make_databases: MakeDatabases) -> Databases:
    """Files of SQLite, and ledgers on them."""
    return make_databases(None)


@pytest.fixture
def postgresql(make_databases: MakeDatabases, postgres: Postgres) -> Databases:
    """Schemas of PostgreSQL, and ledgers on them."""
    return make_databases(postgres)


@pytest.fixture
def sql(databases: Databases) -> SqlLedger:
    """A ledger in a database of either kind."""
    return databases.ledger()


KINDS = ["memory", "sqlite", "sqlite, async", "postgresql", "postgresql, async"]


@pytest.fixture(params=KINDS)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, empty_ledgers: EmptyLedgers) -> Iterator[InMemoryLedger]:
    """Each kind of ledger, in both worlds. All have the methods of `InMemoryLedger`, and must behave as it does."""
    kind, _, world = request.param.partition(", ")
    if kind == "memory":
        yield InMemoryLedger()
        return
    with ExitStack() as kept:
        if kind == "sqlite":
            url = empty_ledgers.file(tmp_path)
        else:
            server = request.getfixturevalue("postgres")
            url = server.url(kept.enter_context(empty_ledgers.schema(server)))
        one = SqlLedger(url, sleep=lambda _: None)
        kept.callback(one.close)
        yield cast("InMemoryLedger", below_a_loop(one) if world else one)
