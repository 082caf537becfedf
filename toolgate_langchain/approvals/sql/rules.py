"""Standing rules in SQL, each once for whoever owns it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.approvals.sql.tables import RULES
from toolgate_langchain.approvals.sql.writing import note_event
from toolgate_langchain.canonical import canonical_json, digest
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["THREAD", "add", "drop", "rules_of"]

THREAD: Final = "thread"
"""The scope of rules that a thread owns."""

_OF_OWNER = (
    select(RULES.c.rule)
    .where(RULES.c.scope == bindparam("whose"), RULES.c.owner == bindparam("who"))
    .order_by(RULES.c.place, RULES.c.id)
)
_LAST_PLACE = select(func.coalesce(func.max(RULES.c.place), 0) + 1).where(
    RULES.c.scope == bindparam("scope"), RULES.c.owner == bindparam("owner")
)
_DROP = delete(RULES).where(
    RULES.c.scope == bindparam("whose"), RULES.c.owner == bindparam("who"), RULES.c.identity == bindparam("same")
)
_VALUES = {
    **{name: bindparam(name) for name in ("scope", "owner", "identity", "request_id", "rule")},
    "place": _LAST_PLACE.scalar_subquery(),
}
_SQLITE, _POSTGRESQL = (dialect.insert(RULES).values(_VALUES) for dialect in (sqlite, postgresql))
# Of two rules that are the same the later one stays, behind all others.
_ADD = {
    dialect: made.on_conflict_do_update(
        index_elements=["scope", "owner", "identity"],
        set_={name: made.excluded[name] for name in ("request_id", "place", "rule")},
    )
    for dialect, made in (("sqlite", _SQLITE), ("postgresql", _POSTGRESQL))
}


def _identity(rule: StandingRule) -> str:
    """What makes two rules the same rule, as one text."""
    return digest("toolgate:rule:1", *(one.value if isinstance(one, Tier) else one for one in rule.identity))


def rules_of(connection: Connection, scope: str, owner: str) -> Sequence[StandingRule]:
    """The rules that somebody owns, in the order in which they were last added."""
    texts = connection.execute(_OF_OWNER, {"whose": scope, "who": owner}).scalars()
    return [StandingRule.from_json(json.loads(text)) for text in texts]


def add(connection: Connection, scope: str, owner: str, rule: StandingRule, *, at: int) -> None:
    """Keep a rule; one that is the same is replaced."""
    row = {"scope": scope, "owner": owner, "identity": _identity(rule), "request_id": rule.request_id}
    connection.execute(_ADD[connection.dialect.name], {**row, "rule": canonical_json(rule.to_json())})
    thread = owner if scope == THREAD else None
    note_event(connection, "rule_kept", at, request_id=rule.request_id, thread_id=thread, rule=row["identity"])


def drop(connection: Connection, scope: str, owner: str, rules: Sequence[StandingRule]) -> None:
    """Forget rules, and any that are the same as one of them."""
    for same in sorted({_identity(rule) for rule in rules}):
        connection.execute(_DROP, {"whose": scope, "who": owner, "same": same})
