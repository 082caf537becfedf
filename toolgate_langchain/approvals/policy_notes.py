"""What argument policies say of a call that a person must see, where the request's reason is another one.

A request has one reason, and where the approval rule calls for a person it is the rule's. What a policy found in the
arguments is why this very call cannot be remembered or released unasked, so it is told beside the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.approvals.shown import show_text
from toolgate_langchain.policy.arguments import ask_policy
from toolgate_langchain.policy.reading import ReadingPolicy
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.policy.decide import ProposedCall, Rulebook
    from toolgate_langchain.policy.decision import Decision
    from toolgate_langchain.policy.history import History

__all__ = ["policy_notes"]


def policy_notes(
    rulebook: Rulebook, call: ProposedCall, run: Run, history: History | None, decision: Decision
) -> Iterator[str]:
    """A note for each policy that wants the call seen and is not the reason of its request.

    Args:
        rulebook: What the operator configured.
        call: The call, with effective arguments.
        run: The run.
        history: What was read before it; where that is known, policies about it say in notes of their own which
            argument came from where.
        decision: What was decided of it.
    """
    view = call.view(run.context, history)
    if not decision.must_ask or view is None:
        return
    for policy in rulebook.argument_policies:
        if history is not None and isinstance(policy, ReadingPolicy):
            continue
        answer = ask_policy(policy, view)
        if answer.verdict is Verdict.ASK and answer.reason != decision.reason:
            yield show_text(f"a person must see it: {answer.reason}").text.replace("\n", "\n    ")
