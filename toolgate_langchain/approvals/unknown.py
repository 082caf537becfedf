"""A call of which nobody knows whether it ran: what a person is asked about it, and what they may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["FINAL", "OUTCOME_ANSWERS", "OutcomeAnswer", "outcome_id", "outcome_request"]

OutcomeAnswer = Literal["try_again", "done", "failed"]
"""What a person may say of a call whose outcome is unknown: run it once more; it is done; it failed."""

OUTCOME_ANSWERS: Final[tuple[OutcomeAnswer | Literal["reject"], ...]] = ("try_again", "done", "failed", "reject")
"""Those, and a plain no: it stays unknown."""


FINAL: Final = frozenset({"reject", "done", "failed"})
"""Answers that no later one takes back: noes, and what was said of an outcome. A `try_again` can be taken back until
the call is begun, like any other yes."""


def outcome_id(key: str, tries: int) -> str:
    """The id of the request: the same in every replay, another one after each further try.

    Args:
        key: The id under which the call's start is recorded.
        tries: How often it was started.
    """
    return digest("toolgate:outcome:1", key, tries)[:32]


def outcome_request(
    key: str, tries: int, bound: str, run: Run, entry: CatalogEntry, call_id: str, arguments: Mapping[str, Any]
) -> ApprovalRequest:
    """What a person is asked about a call whose outcome is unknown.

    Args:
        key: The id under which its start is recorded.
        tries: How often it was started.
        bound: The digest of the very call.
        run: The run.
        entry: The tool.
        call_id: The call's id.
        arguments: Its effective arguments.
    """
    times = "once" if tries == 1 else f"{tries} times"
    return ApprovalRequest(
        request_id=outcome_id(key, tries),
        digest=bound,
        tool_call_id=call_id,
        tool_name=entry.name,
        origin=entry.origin,
        arguments=arguments,
        tier="unclassified" if entry.tier is None else entry.tier.value,
        surface=run.context.surface.name,
        caller=run.context.caller_id,
        reason=f"it was started {times} and no result was recorded; nobody knows whether it was carried out",
        position=1,
        of=1,
        notes=("nothing is repeated unless you say so: try_again, done or failed; reject leaves it unknown",),
        agent_path=run.agent_path,
        allowed=OUTCOME_ANSWERS,
        kind="outcome",
    )
