"""Answers that a replay would pass over: the one after an answer that was refused, and a no after all questions.

An answer that could not be used when it was given stays unusable, whatever a validator or a rule says of it later.

A replay goes through all answers of a task again. What was refused then can look usable by now, as where its arguments
are looked up in the world, or its giver came on duty meanwhile. Taken in now it would stand in place of the answer
that a person gave after they had been told, which may be a no.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.errors import InvalidAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.carrying import Carrying
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["RefusedBeforeError", "noes_behind", "refused_before"]


class RefusedBeforeError(InvalidAnswerError):
    """The answer was refused when it was given, and another one was given after it."""

    def __init__(self) -> None:
        super().__init__("it was refused when it was given")


def refused_before(ledger: Ledger, carrying: Carrying, request_id: str, answer: ApprovalAnswer) -> Steps[bool]:
    """Whether an answer was refused when it was given: it is not on record, and another one came after it.

    What is taken in is on record before anything else is asked. A no is never refused this way.

    Args:
        ledger: The gate's ledger.
        carrying: Knows the answers of this pass.
        request_id: The request.
        answer: The answer that was just given to it, with its id; nothing is on record for it.
    """
    behind = None if answer.type == "reject" else carrying.following()
    if behind is None:
        return False
    try:
        following: ApprovalAnswer | None = read_answer(behind)
    except InvalidAnswerError:
        following = None
    if following is not None and replace(following, request_id=following.request_id or request_id) == answer:
        return False  # said twice
    # A ledger that forgot the request, as one in another process's memory, forgot what was answered too. The answer
    # behind may then be another request's, or take this one back.
    return (yield partial(ledger.asked, request_id)) is not None


def noes_behind(carrying: Carrying, last: str | None) -> Iterator[ApprovalAnswer]:
    """The noes among the answers that nothing was asked for any more, each with its request.

    Args:
        carrying: Knows the answers of this pass.
        last: The request that was answered last. A no that names none is for that one.
    """
    for further in count():
        if (raw := carrying.following(further)) is None:
            return
        try:
            answer = read_answer(raw)
        except InvalidAnswerError:
            continue
        if answer.type == "reject":
            yield replace(answer, request_id=answer.request_id or last)
