"""Everything that a decision may depend on, in one statement: one way to the database and back, and one moment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, Integer, Text, bindparam, case, cast, exists, false, literal, select, union_all

from toolgate_langchain.approvals.rule_ledger import Said
from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.approvals.sql.record import SWITCH_OF_ALL
from toolgate_langchain.approvals.sql.revoking import REVOKED
from toolgate_langchain.approvals.sql.rules import THREAD, USER
from toolgate_langchain.approvals.sql.runs import NOTES_OF_MEMORY, remembered
from toolgate_langchain.approvals.sql.stamps import STAMPS, Kept, KeptRules
from toolgate_langchain.approvals.sql.tables import ANSWERS, NOTES, RULES, SWITCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Select

__all__ = ["rules_of", "said"]

_OFF: Final = "off"


def _rows(kind: str, one: Any, two: Any = "", three: Any = "", place: Any = 0, row: Any = 0) -> Select[Any]:
    """Rows of one kind, all with the same columns, so that they fit under those of the others."""
    texts = [cast(literal(value), Text) if isinstance(value, str) else value for value in (kind, one, two, three)]
    numbers = [cast(literal(value), Integer) if isinstance(value, int) else value for value in (place, row)]
    names = ("kind", "one", "two", "three", "place", "row")
    return select(*[column.label(name) for column, name in zip([*texts, *numbers], names, strict=True)])


def _rules(scope: str, owner: str, known: str) -> list[Select[Any]]:
    """The stamp of an owner's rules and, unless it is the one that is known, the rules."""
    here: list[ColumnElement[bool]] = [STAMPS.c.scope == scope, STAMPS.c.owner == bindparam(owner)]
    unchanged = exists().where(*here, STAMPS.c.stamp == bindparam(known))
    rules = _rows("rule", RULES.c.scope, RULES.c.rule, "", RULES.c.place, RULES.c.id)
    return [
        _rows("stamp", STAMPS.c.scope, STAMPS.c.stamp).where(*here),
        rules.where(RULES.c.scope == scope, RULES.c.owner == bindparam(owner), ~unchanged),
    ]


def _in_order(parts: Sequence[Select[Any]]) -> Any:
    return union_all(*parts).order_by("place", "row")


_OF_THREAD: Final = _rules(THREAD, "place", "thread_stamp")
_OF_USER: Final = _rules(USER, "user", "user_stamp")
_OWNER: Final = {THREAD: "place", USER: "user"}
_SAID: Final = _in_order(
    [
        # Whatever is not plainly off counts as on.
        _rows("switch", case((SWITCH.c.stopped == false(), _OFF), else_="on")).where(SWITCH.c.name == SWITCH_OF_ALL),
        _rows("note", NOTES.c.kind, NOTES.c.subject, NOTES.c.value).where(
            NOTES.c.run_id == bindparam("run"), NOTES.c.kind.in_(NOTES_OF_MEMORY)
        ),
        _rows("taken_back", ANSWERS.c.request_id).where(
            ANSWERS.c.thread_id == bindparam("thread"), ANSWERS.c.taken_back
        ),
        _rows("revoked", REVOKED.c.request_id).where(REVOKED.c.thread.in_((bindparam("thread"), ""))),
        *_OF_THREAD,
        *_OF_USER,
    ]
)
_RULES: Final = {THREAD: _in_order(_OF_THREAD), USER: _in_order(_OF_USER)}


def said(
    connection: Connection,
    run_id: str,
    thread_id: str | None,
    caller_id: str | None,
    kept: KeptRules,
    place: str | None,
) -> Said:
    """See `RuleLedger.said`.

    Args:
        connection: Where it is looked up.
        run_id: The run.
        thread_id: Its thread.
        caller_id: For whom it runs.
        kept: Rules that were read before.
        place: Where the thread's rules are kept.
    """
    owners = {THREAD: place, USER: caller_id}
    known = {scope: kept.of(scope, owner) for scope, owner in owners.items()}
    rows = connection.execute(
        _SAID,
        {
            "run": run_id,
            "thread": thread_id,
            **{_OWNER[scope]: owner for scope, owner in owners.items()},
            **{f"{scope}_stamp": known[scope].stamp for scope in owners},
        },
    ).all()
    rules = {scope: _current(rows, scope, owner, known[scope], kept) for scope, owner in owners.items()}
    return Said(
        stopped=any(row.kind == "switch" and row.one != _OFF for row in rows),
        memory=remembered([(row.one, row.two, row.three) for row in rows if row.kind == "note"]),
        thread_rules=rules[THREAD],
        user_rules=rules[USER],
        taken_back=frozenset(row.one for row in rows if row.kind == "taken_back"),
        revoked=frozenset(row.one for row in rows if row.kind == "revoked"),
    )


def rules_of(connection: Connection, scope: str, owner: str, kept: KeptRules) -> Sequence[StandingRule]:
    """The rules of one owner, in the order in which they were last added; the same object while nothing changed."""
    known = kept.of(scope, owner)
    rows = connection.execute(_RULES[scope], {_OWNER[scope]: owner, f"{scope}_stamp": known.stamp}).all()
    return _current(rows, scope, owner, known, kept)


def _current(
    rows: Sequence[Any], scope: str, owner: str | None, known: Kept, kept: KeptRules
) -> Sequence[StandingRule]:
    """The rules of an owner: those that are known where their stamp is still the database's, else those that came."""
    stamp = next((row.two for row in rows if row.kind == "stamp" and row.one == scope), "")
    if owner is None or stamp == known.stamp:
        return known.rules
    texts = [row.two for row in rows if row.kind == "rule" and row.one == scope]
    read = Kept(stamp, tuple(StandingRule.from_json(json.loads(text)) for text in texts))
    kept.keep(scope, owner, read)
    return read.rules
