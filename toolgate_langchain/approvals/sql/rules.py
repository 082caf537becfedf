"""Standing rules in SQL, each once for whoever owns it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from toolgate_langchain.approvals.rules import StandingRule, which_stays
from toolgate_langchain.approvals.sql.revoking import held_answer, is_revoked, replaced
from toolgate_langchain.approvals.sql.tables import RULES
from toolgate_langchain.approvals.sql.writing import note_event
from toolgate_langchain.canonical import canonical_json, digest
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

__all__ = ["THREAD", "USER", "add", "add_of_user", "drop", "of_all_users"]

THREAD: Final = "thread"
"""The scope of rules that a thread owns."""

USER: Final = "user"
"""The scope of rules that a user owns."""

_OF_ALL_USERS = select(RULES.c.rule).where(RULES.c.scope == USER).order_by(RULES.c.owner, RULES.c.place, RULES.c.id)
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
_SAME = (
    select(RULES.c.id, RULES.c.rule)
    .where(RULES.c.scope == USER, RULES.c.owner == bindparam("who"), RULES.c.identity == bindparam("same"))
    .with_for_update()
)
_REWRITE = (
    update(RULES).where(RULES.c.id == bindparam("row")).values(request_id=bindparam("by"), rule=bindparam("text"))
)
_ADD_ONCE = {
    dialect: made.execution_options(preserve_rowcount=True).on_conflict_do_nothing(
        index_elements=["scope", "owner", "identity"]
    )
    for dialect, made in (("sqlite", _SQLITE), ("postgresql", _POSTGRESQL))
}
# Of two rules of a thread that are the same the later one stays, behind all others.
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


def of_all_users(connection: Connection) -> Sequence[StandingRule]:
    """The rules of all users, those of one after those of another."""
    return [_read(text) for text in connection.execute(_OF_ALL_USERS).scalars()]


def add(connection: Connection, scope: str, owner: str, rule: StandingRule, *, at: int) -> None:
    """Keep a rule; one that is the same is replaced."""
    row = {"scope": scope, "owner": owner, "identity": _identity(rule), "request_id": rule.request_id}
    connection.execute(_ADD[connection.dialect.name], {**row, "rule": canonical_json(rule.to_json())})
    thread = owner if scope == THREAD else None
    note_event(connection, "rule_kept", at, request_id=rule.request_id, thread_id=thread, rule=row["identity"])


def add_of_user(connection: Connection, rule: StandingRule, *, at: int) -> None:
    """See `RuleLedger.add_user_rule`."""
    made_by, identity, text = str(rule.request_id), _identity(rule), canonical_json(rule.to_json())
    held = held_answer(connection, made_by)
    if held is None or held.type != rule.answered_with or is_revoked(connection, made_by):
        return
    row = {"scope": USER, "owner": rule.caller, "identity": identity, "request_id": made_by, "rule": text}
    while not connection.execute(_ADD_ONCE[connection.dialect.name], row).rowcount:
        there = connection.execute(_SAME, {"who": rule.caller, "same": identity}).one_or_none()
        if there is None:
            continue  # it was revoked this very moment
        kept = _read(there.rule)
        if kept.request_id == made_by:
            return
        if which_stays(kept, rule) is kept:
            replaced(connection, made_by, str(kept.request_id), at=at)
            return
        connection.execute(_REWRITE, {"row": there.id, "by": made_by, "text": text})
        replaced(connection, str(kept.request_id), made_by, at=at)
        break
    note_event(connection, "rule_kept", at, request_id=made_by, thread_id=held.thread_id, rule=identity)


def _read(text: str) -> StandingRule:
    return StandingRule.from_json(json.loads(text))


def drop(connection: Connection, scope: str, owner: str, rules: Sequence[StandingRule]) -> None:
    """Forget rules, and any that are the same as one of them."""
    for same in sorted({_identity(rule) for rule in rules}):
        connection.execute(_DROP, {"whose": scope, "who": owner, "same": same})
