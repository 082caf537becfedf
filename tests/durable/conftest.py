"""Databases for ledgers and checkpoints, all real, and agents that share them as workers do."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.durable.workers import Worksite, make_checkpoints
from tests.ledger.conftest import databases, empty_ledgers, make_databases, postgres, postgresql, ready, sqlite
from tests.ledger.databases import MadeDatabases
from tests.ledger.emptied import EmptyLedgers

__all__ = ["databases", "empty_ledgers", "make_databases", "postgres", "postgresql", "ready", "sqlite"]


@pytest.fixture(scope="session")
def made_already(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmptyLedgers]:
    """Databases that are ledgers already and hold checkpoints, with nothing in them."""
    with closing(EmptyLedgers(tmp_path_factory.mktemp("made"), make_checkpoints)) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, made_already: EmptyLedgers, tmp_path: Path) -> Iterator[Worksite]:
    """A ledger and checkpoints in a database of each kind in turn, for any number of workers."""
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with ExitStack() as kept:
        made = made_already.file(tmp_path) if server is None else kept.enter_context(made_already.schema(server))
        ledgers = kept.enter_context(MadeDatabases(tmp_path, server, made))
        yield kept.enter_context(Worksite(ledgers, tmp_path))


@pytest.fixture
def small_site(made_already: EmptyLedgers, tmp_path: Path) -> Iterator[Worksite]:
    """As `site`, in files of SQLite, for sentences that do not depend on the database."""
    with MadeDatabases(tmp_path, None, made_already.file(tmp_path)) as ledgers, Worksite(ledgers, tmp_path) as made:
        yield made
