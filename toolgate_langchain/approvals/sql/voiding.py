"""Answers that are void, in SQL: off the record, with whatever they made, and their request waits again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, exists, select, update

from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.approvals.sql import answers
from toolgate_langchain.approvals.sql.tables import ANSWERS, GRANTS, REQUESTS, RULES
from toolgate_langchain.approvals.sql.writing import note_event

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from toolgate_langchain.approvals.answer import ApprovalAnswer

__all__ = ["void_answer"]

# Locked in the order in which an answer is taken in.
_HELD = select(ANSWERS).where(ANSWERS.c.request_id == bindparam("key")).with_for_update()
_GRANT = select(GRANTS.c.status).where(GRANTS.c.request_id == bindparam("key")).with_for_update()
_TAKE_OUT = delete(ANSWERS).where(ANSWERS.c.request_id == bindparam("key"))
_TAKE_BACK = delete(GRANTS).where(GRANTS.c.request_id == bindparam("key"), GRANTS.c.status == GrantStatus.ISSUED.value)
_BEGUN = select(exists().where(GRANTS.c.request_id == bindparam("key")))
_FORGET = delete(RULES).where(RULES.c.request_id == bindparam("key"))
_OPEN_AGAIN = update(REQUESTS).where(REQUESTS.c.request_id == bindparam("key")).values(open=True)


def void_answer(connection: Connection, request_id: str, given: ApprovalAnswer, *, why: str, at: int) -> bool:
    """See `Inbox.void_answer`."""
    key = {"key": request_id}
    held = connection.execute(_HELD, key).one_or_none()
    if held is None or held.type == "reject" or held.answer != answers.written(given):
        return False
    if connection.execute(_GRANT, key).scalar() is not None:
        # Whoever starts it does so by changing the row: of the two one comes first.
        connection.execute(_TAKE_BACK, key)
        if connection.execute(_BEGUN, key).scalar():
            return False
    for statement in (_TAKE_OUT, _FORGET, _OPEN_AGAIN):
        connection.execute(statement, key)
    note_event(
        connection,
        "answer_void",
        at,
        request_id=request_id,
        thread_id=held.thread_id,
        answer=given.type,
        by=given.by,
        why=why,
    )
    return True
