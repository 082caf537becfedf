"""Databases for ledgers and checkpoints, all real, and agents that share them as workers do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durable.workers import Worksite
from tests.ledger.conftest import databases, postgres, postgresql, sqlite
from tests.ledger.databases import Databases

__all__ = ["databases", "postgres", "postgresql", "sqlite"]


@pytest.fixture
def site(databases: Databases, tmp_path: Path) -> Iterator[Worksite]:
    """A ledger and checkpoints in a database of each kind in turn, for any number of workers."""
    with Worksite(databases, tmp_path) as made:
        yield made


@pytest.fixture
def small_site(sqlite: Databases, tmp_path: Path) -> Iterator[Worksite]:
    """As `site`, in files of SQLite, for sentences that do not depend on the database."""
    with Worksite(sqlite, tmp_path) as made:
        yield made
