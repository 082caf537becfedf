"""Ledgers that keep the record."""

from __future__ import annotations

import pytest

from tests.ledger.databases import Databases
from tests.support import Clock, Recorder
from toolgate_langchain import SqlLedger
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger


@pytest.fixture
def sql(databases: Databases) -> SqlLedger:
    """A ledger in a database of either kind, whose clock stands still."""
    return databases.ledger(clock=Clock())


@pytest.fixture
def ledger() -> RecordingInMemoryLedger:
    return RecordingInMemoryLedger(clock=Clock())


@pytest.fixture
def ran() -> Recorder:
    return Recorder()
