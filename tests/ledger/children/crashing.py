"""Dies before each statement of some work in turn, and says each time what is left of it in the database.

Each death is a process of its own, forked off this one while its ledger is connected, so that this also shows that a
forked process and its parent do not speak on one connection.
"""

import json
import os
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from toolgate_langchain import ApprovalAnswer, SqlLedger, StandingRule
from toolgate_langchain.approvals.attempts import CallStart

YES, NO = ApprovalAnswer(type="approve"), ApprovalAnswer(type="reject")
ledger = SqlLedger(sys.argv[1])
keys = (f"r{number}" for number in count())


def prepare(key: str) -> None:
    """An approved request with a grant and a rule that its approval made."""
    ledger.answer(key, YES, thread_id=key)
    ledger.grant(key, "d")
    rule = {"toolName": "send", "fingerprint": "f", "surface": "chat", "createdAt": "2026-01-02T00:00:00Z"}
    ledger.add_thread_rule(key, StandingRule.from_json({**rule, "requestId": key}))
    ledger.note_auto_approved(key, "turn")


def stands(key: str) -> list[Any]:
    """All that the database holds of a request."""
    status: Any = ledger.status(key)
    held: Any = ledger.answer_to(key)
    memory: Any = ledger.memory(key)
    events: Any = ledger.events(request_id=key)
    rules: Any = ledger.thread_rules(key)
    taken_back: Any = ledger.taken_back(key)
    told = [event.kind for event in events]
    return [status.value, held.type, len(rules), len(taken_back), memory.auto_approved_turns, memory.rejections, told]


WORK: dict[str, Callable[[str], Any]] = {
    "answer": lambda key: ledger.answer(key, NO),
    "start": lambda key: ledger.start(CallStart(key, "d", needs_grant=True, repeatable=False)),
    "withdraw": lambda key: ledger.withdraw([key]),
    "note_person": lambda key: ledger.note_person(key, key),
    "note_rejected": lambda key: ledger.note_rejected(key, "key", "send", key),
}


def die_before(number: int, work: Callable[[], Any]) -> bool:
    """Do the work in a process that dies before its statement of this number; whether it came to its end."""
    child = os.fork()
    if child == 0:
        seen = count()

        def before(*_: Any) -> None:
            if next(seen) == number:
                os._exit(9)

        event.listen(Engine, "before_cursor_execute", before)
        event.listen(Engine, "commit", before)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


said: dict[str, Any] = {}
for name, work in WORK.items():
    left = []
    for number in count():
        key = next(keys)
        prepare(key)
        before = stands(key)
        whole = die_before(number, lambda work=work, key=key: work(key))  # type: ignore[misc]
        left.append({"before": before, "after": stands(key), "whole": whole})
        if whole:
            break
    said[name] = left
print(json.dumps(said))  # noqa: T201
