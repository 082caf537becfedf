"""Claims in SQL: one row for each, with its holder and its end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, delete, or_, update

from toolgate_langchain.approvals.attempts import new_name
from toolgate_langchain.approvals.sql.tables import CLAIMS, micros
from toolgate_langchain.approvals.sql.writing import insert_once

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.sql.calling import Caller
    from toolgate_langchain.approvals.sql.database import Database

__all__ = ["SqlClaims"]

_OVERTAKE = (
    update(CLAIMS)
    .where(
        CLAIMS.c.request_id == bindparam("key"),
        # Its own holder is here again only where the word of its first try was lost.
        or_(CLAIMS.c.until <= bindparam("now"), CLAIMS.c.holder == bindparam("mine")),
    )
    .values(holder=bindparam("mine"), until=bindparam("ends"))
)
_MINE = (CLAIMS.c.request_id == bindparam("key"), CLAIMS.c.holder == bindparam("mine"))
_RENEW = update(CLAIMS).where(*_MINE).values(until=bindparam("ends"))
_GIVE_BACK = delete(CLAIMS).where(*_MINE)


_REMEMBERED: Final = 4_096
"""Claims of which a ledger knows until when they are its own, so that renewing them early costs nothing."""


def _claim(connection: Connection, request_id: str, holder: str, *, at: int, until: int) -> bool:
    """See `Claims.claim`. A claim whose time is over is anybody's."""
    if insert_once(connection, CLAIMS, request_id=request_id, holder=holder, until=until):
        return True
    values = {"key": request_id, "mine": holder, "now": at, "ends": until}
    return connection.execute(_OVERTAKE, values).rowcount == 1


def _renew(connection: Connection, request_id: str, holder: str, *, until: int) -> bool:
    """See `Claims.renew`. Also a claim whose time is over is its holder's, as long as nobody took it."""
    return connection.execute(_RENEW, {"key": request_id, "mine": holder, "ends": until}).rowcount == 1


def _release(connection: Connection, request_id: str, holder: str) -> None:
    """See `Claims.release`. Whoever lost a claim by being late does not give back its successor's."""
    connection.execute(_GIVE_BACK, {"key": request_id, "mine": holder})


class SqlClaims:
    """The part of `SqlLedger` that keeps claims; see `Claims`."""

    _lease: timedelta
    _clock: Callable[[], datetime]
    _caller: Caller
    _database: Database

    def __init__(self) -> None:
        super().__init__()
        self._claims: dict[str, tuple[str, datetime]] = {}

    def claim(self, request_id: str, *, holder: str | None = None) -> Maybe[bool]:
        """See `Claims.claim`. A claim ends with its lease, as where its worker died."""
        return self._caller.call(partial(self._hold, _claim, request_id, holder or new_name(), anew=True))

    def renew(self, request_id: str, *, holder: str) -> Maybe[bool]:
        """See `Claims.renew`."""
        known, until = self._claims.get(request_id, ("", None))
        if known == holder and until is not None and until - self._clock() > self._lease / 2:
            return True
        return self._caller.call(partial(self._hold, _renew, request_id, holder, anew=False))

    def _hold(self, work: Callable[..., bool], request_id: str, holder: str, *, anew: bool) -> bool:
        now = self._clock()
        ends = now + self._lease
        times = {"until": micros(ends), **({"at": micros(now)} if anew else {})}
        if not self._database.write(work, request_id, holder, **times):
            return False
        self._claims[request_id] = holder, ends
        # Whoever keeps a claim until its lease is over does not give it back.
        if len(self._claims) > _REMEMBERED:
            del self._claims[next(iter(self._claims))]
        return True

    def release(self, request_id: str, *, holder: str | None = None) -> Maybe[None]:
        """See `Claims.release`. Without a holder, only a claim that was made through this object is given back."""
        return self._caller.call(partial(self._let_go, request_id, holder))

    def _let_go(self, request_id: str, holder: str | None) -> None:
        known, _ = self._claims.get(request_id, (None, None))
        if holder in (None, known):
            holder, _ = self._claims.pop(request_id, (None, None))
        if holder is not None:
            self._database.write(_release, request_id, holder)
