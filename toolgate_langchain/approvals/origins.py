"""Which argument of a call came from where, for the person who is asked and for the operator's log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.shown import show_text
from toolgate_langchain.policy.reading import ReadingPolicy
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.policy.arguments import ArgumentView
    from toolgate_langchain.policy.decide import ProposedCall, Rulebook
    from toolgate_langchain.policy.history import History

__all__ = ["log_observed", "origin_notes"]

logger = logging.getLogger("toolgate_langchain")


def origin_notes(rulebook: Rulebook, call: ProposedCall, run: Run, history: History | None) -> Iterator[str]:
    """A note for each decisive value of a call, with where it comes from; none where nothing untrusted was read."""
    view = _view(call, run, history)
    for policy in rulebook.argument_policies:
        if view is not None and isinstance(policy, ReadingPolicy):
            for one in policy.trace(view):
                yield show_text(one.text).text.replace("\n", "\n    ")


def log_observed(rulebook: Rulebook, call: ProposedCall, run: Run, history: History | None) -> None:
    """Log what a flow policy that only observes would have done."""
    view = _view(call, run, history)
    for policy in rulebook.argument_policies:
        if view is None or not isinstance(policy, ReadingPolicy) or not policy.observe:
            continue
        said = policy.would(view)
        if said.verdict is not Verdict.ALLOW:
            logger.warning("observed: the flow policy would %s %r: %s", said.verdict.value, call.name, said.reason)


def _view(call: ProposedCall, run: Run, history: History | None) -> ArgumentView | None:
    return None if history is None else call.view(run.context, history)
