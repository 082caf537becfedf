"""The last look at what a call would do, right before it runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.approvals.preview import changed_since, take_preview
from toolgate_langchain.approvals.shown import show_text

if TYPE_CHECKING:
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.policy.decide import ProposedCall

__all__ = ["preview_changed"]


def preview_changed(gate: ToolGate, attempt: Attempt, proposed: ProposedCall) -> Steps[bool]:
    """Whether a released call would do something else now than a person was shown.

    What is different is kept with the attempt, to be shown when the call is proposed again. A call that
    started before and goes on where it paused is not looked at: what it did so far has changed the preview.

    Args:
        gate: The gate.
        attempt: The call, which a person approved, or one beside it that their answer released.
        proposed: The call with its effective arguments.
    """
    record, entry = attempt.record, attempt.entry
    if record is None or record.preview is None or entry is None or proposed.arguments is None:
        return False
    function = entry.profile.preview
    if function is None:
        return False
    status: GrantStatus | None = yield partial(gate.ledger.status, attempt.key)
    # A call that a rule released has a grant only once it starts.
    if status is not None and status is not GrantStatus.ISSUED:
        return False
    now = yield from take_preview(function, proposed.arguments.values, gate.judge.preview_seconds)
    changed = changed_since(record.preview, now)
    attempt.change = show_text(changed, what="the preview").text.replace("\n", "\n    ")
    return bool(changed)
