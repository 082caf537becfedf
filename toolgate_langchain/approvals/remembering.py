"""What an answer asks to remember: whether that was offered, and the rule that it makes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.errors import InvalidAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from toolgate_langchain.approvals.answer import ApprovalAnswer, Remember
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.turn import CallRecord, Run

__all__ = ["check_memory", "rule_of"]


def check_memory(answer: ApprovalAnswer, request: ApprovalRequest, call: CallRecord, run: Run) -> None:
    """Refuse a memory that was not offered.

    Args:
        answer: The answer.
        request: What was asked.
        call: The call that it is about.
        run: The run.

    Raises:
        InvalidAnswerError: If it asks to remember something else than it may; the message is for the person.
    """
    wanted = answer.remember
    if wanted is None:
        return
    offered = {(offer.what, offer.scope) for offer in request.remember}
    if answer.type == "reject":
        # A person may forbid more than could be permitted.
        offered |= {("arguments", "run"), ("tool", "run")}
        if run.thread_id is not None:
            offered |= {("arguments", "thread"), ("tool", "thread")}
        if run.context.caller_id is not None:
            offered |= {("arguments", "user"), ("tool", "user")}
    if call.sensitive:
        # A rule would keep the very arguments, for years and for many eyes.
        offered = {offer for offer in offered if offer[0] != "arguments"}
    if (wanted.what, wanted.scope) not in offered:
        listed = ", ".join(sorted({f"{what} ({scope})" for what, scope in offered})) or "nothing"
        raise InvalidAnswerError(f"remembering {wanted.what} ({wanted.scope}) is not offered here; offered: {listed}")


def rule_of(
    call: CallRecord, arguments: Mapping[str, Any], run: Run, answer: ApprovalAnswer, wanted: Remember, now: datetime
) -> StandingRule:
    """The rule that an answer makes: always from the recorded call, whatever else the answer carried.

    Args:
        call: The call.
        arguments: Its effective arguments.
        run: The run.
        answer: The answer.
        wanted: What it asks to remember.
        now: When it was given.
    """
    return StandingRule(
        tool_name=call.name,
        arguments=None if wanted.what == "tool" else dict(arguments),
        effect="allow" if answer.type == "approve" else "deny",
        scope=wanted.scope,
        origin=call.origin,
        fingerprint=call.fingerprint,
        tier=call.tier,
        surface=run.context.surface.name,
        agent_path=run.agent_path,
        run_id=run.id if wanted.scope == "run" else None,
        caller=run.context.caller_id,
        request_id=call.request_id,
        created_by=answer.by,
        created_at=now,
        expires_at=None if wanted.expires_in is None else now + timedelta(seconds=wanted.expires_in),
    )
