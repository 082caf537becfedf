"""Results of calls that did not end: they came with the user's words, and are nothing that a tool gave.

Screens that want each call to have a result write one themselves ("Successfully handled tool call.") when the user
writes something else while a request waits. The model would take a call for carried out that nobody approved.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.hosts.engine.refusal import refusal, refused
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import TurnRecord

__all__ = ["calls_without_an_end"]

_NOT_OVER: Final = (GrantStatus.STARTED, GrantStatus.PAUSED)
"""Where a grant stands whose call began and gave nothing yet. Of one that did not begin another middleware may have
given the result; and a ledger that knows of none may be another process's."""


def calls_without_an_end(turn: TurnRecord, results: Iterable[ToolMessage], ledger: Ledger) -> Steps[set[str]]:
    """The calls of a turn that have a result in the messages and cannot have one.

    Before the last answer none has run, and what was refused by then has the gate's own words. After it, whether a call
    that began is over is known from its grant.

    Args:
        turn: The saved turn.
        results: The tool messages behind it.
        ledger: Knows what was started, and what came to its end.

    Returns:
        Their ids.
    """
    made_up: set[str] = set()
    for result in results:
        record = turn.call(result.tool_call_id)
        if record is None:
            continue  # a call that carries structured output, or one that nobody had to judge
        if not turn.settled:
            over = record.outcome == "refused" and result.content == refused(record).content
        elif record.person_released:
            status = yield partial(ledger.status, record.request_id)
            over = status not in _NOT_OVER or _says_that_it_is_unknown(result)
        else:
            over = True
        if not over:
            made_up.add(result.tool_call_id)
    return made_up


def _says_that_it_is_unknown(result: ToolMessage) -> bool:
    return result.content == refusal("", str(result.name), Code.OUTCOME_UNKNOWN, "").content
