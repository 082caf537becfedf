"""The databases that ledgers are tested on, all real: files of SQLite, and a PostgreSQL server that the tests start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.ledger.databases import Databases, Postgres, below_a_loop, start_postgres, without_the_disk
from tests.ledger.emptied import EmptyLedgers
from toolgate_langchain import InMemoryLedger, SqlLedger

# Whenever one is taken from its pool: when it is made, the ledger has it wait for the disk, and has the last word.
event.listen(Pool, "checkout", without_the_disk)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, for as long as the tests run.

    Not below pytest's own folder: root's server runs as another user, and each pytest of root that starts takes that
    folder's rights away from everybody else, also while this one is at work.
    """
    with TemporaryDirectory(prefix="toolgate-postgres-") as made, start_postgres(Path(made)) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    """Makes empty databases, of both kinds in turn, and ledgers on them."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with Databases(tmp_path, server) as made:
        yield made


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Databases]:
    """Makes empty files of SQLite, and ledgers on them."""
    with Databases(tmp_path, None) as made:
        yield made


@pytest.fixture
def postgresql(tmp_path: Path, postgres: Postgres) -> Iterator[Databases]:
    """Makes empty schemas of PostgreSQL, and ledgers on them."""
    with Databases(tmp_path, postgres) as made:
        yield made


@pytest.fixture
def sql(databases: Databases) -> SqlLedger:
    """A ledger in a database of either kind."""
    return databases.ledger()


KINDS = ["memory", "sqlite", "sqlite, async", "postgresql", "postgresql, async"]


@pytest.fixture(scope="session")
def empty_ledgers(tmp_path_factory: pytest.TempPathFactory) -> EmptyLedgers:
    """Databases that are ledgers already, with nothing in them."""
    return EmptyLedgers(tmp_path_factory.mktemp("empty"))


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
