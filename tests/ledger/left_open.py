"""Connections to PostgreSQL that one test leaves to the next one: to open one takes longer than most tests.

They are those to the schemas of `emptied.py`. Whoever opens one and closes it meets all that they would meet with a new
one but the time; a connection that is broken, or in the middle of something, is closed in earnest. Tests of how a
connection is made or lost take the databases that nobody had before.
"""

from __future__ import annotations

import os
import select
from collections import defaultdict
from collections.abc import Hashable
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Engine, event

__all__ = ["RESERVES", "Left", "Reserve", "search_path"]

_MOST = 4
"""How many are left open for each use; the server has a hundred in all."""


class Reserve:
    """The connections to one schema that nobody uses at the moment."""

    def __init__(self) -> None:
        self._free: dict[Hashable, list[Left]] = defaultdict(list)
        self._process = os.getpid()

    def open(self, use: Hashable, *args: Any, **options: Any) -> Left:
        """A connection for a use, which stands for its options: one that was left, or a new one."""
        free = self._free[use] if self._process == os.getpid() else []
        while free:
            left = free.pop()
            if left.lives:
                left.reserve = self
                return left
            left.close()
        made = Left.connect(*args, **options)
        made.use, made.reserve, made.begun_with = use, self, made.autocommit
        return made

    def keep(self, left: Left) -> bool:
        """Keep a connection that was closed, if it is as good as a new one."""
        free = self._free[left.use]
        good = left.lives and left.autocommit == left.begun_with and self._process == os.getpid() and len(free) < _MOST
        if good:
            free.append(left)
        return good

    def close(self) -> None:
        """Close them all."""
        for free in self._free.values():
            while free:
                free.pop().close()


class Left(psycopg.Connection[Any]):
    """A connection that goes back to its reserve where it is closed."""

    use: Hashable = None
    reserve: Reserve | None = None
    begun_with = False
    """Whether it committed each statement when it was new."""

    @property
    def lives(self) -> bool:
        """Whether it is in order and in the middle of nothing; a server that leaves says so at once."""
        if self.closed or self.info.transaction_status is not TransactionStatus.IDLE:
            return False
        said, _, _ = select.select([self.fileno()], [], [], 0)
        return not said

    def close(self) -> None:
        """Go back to the reserve, or end."""
        reserve, self.reserve = self.reserve, None
        if reserve is None or not reserve.keep(self):
            super().close()


RESERVES: dict[str, Reserve] = {}
"""The reserve of each schema of PostgreSQL that has one, by the option that names it."""


def search_path(schema: str) -> str:
    """The option of a connection that names its schema."""
    return f"-csearch_path={schema}"


@event.listens_for(Engine, "do_connect")
def _from_the_reserve(_: Any, __: Any, args: Any, options: dict[str, Any]) -> Left | None:
    """Where a ledger opens a connection. Without one of a reserve, SQLAlchemy opens it."""
    reserve = RESERVES.get(options.get("options", "")) if str(options.get("host", "")).startswith("/") else None
    return None if reserve is None else reserve.open("ledger", *args, **options)
