"""The answer to "may this call run?", with the layer that gave it and the reason in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolgate_langchain.vocabulary import Verdict

__all__ = ["MODEL_MESSAGES", "Code", "Decision", "Layer", "TraceRow", "what_the_model_is_told"]


class Layer(Enum):
    """The rows of the decision, in the order in which they are asked."""

    SWITCH = "switch"
    IDENTITY = "identity"
    GATES = "gates"
    ARGUMENT_POLICIES = "argument policies"
    STANDING_DENIES = "standing denies"
    APPROVAL_RULE = "approval rule"
    STANDING_ALLOWS = "standing allows"
    HEURISTICS = "heuristics"
    SURFACE = "surface"


class Code:
    """The codes of decisions. They are shown to operators and kept in records; do not rename them."""

    STOPPED: Final = "stopped"
    UNKNOWN_TOOL: Final = "unknown_tool"
    INVALID_ARGUMENTS: Final = "invalid_arguments"
    NOT_REGISTERED: Final = "not_registered"
    TOOL_DISABLED: Final = "tool_disabled"
    REQUIRES_ADMIN: Final = "requires_admin"
    CONFIGURATION_GROUP: Final = "configuration_group"
    TRUST_ZONE: Final = "trust_zone"
    SURFACE: Final = "surface"
    ARGUMENT_POLICY: Final = "argument_policy"
    STANDING_DENY: Final = "standing_deny"
    REJECTED: Final = "rejected"
    REJECTED_TOOL: Final = "rejected_tool"
    REPLACED: Final = "replaced"
    RESPONDED: Final = "responded"
    NOT_REQUIRED: Final = "not_required"
    STANDING_RULE: Final = "standing_rule"
    APPROVED: Final = "approved"
    APPROVAL_REQUIRED: Final = "approval_required"
    INPUT_REQUIRED: Final = "input_required"
    UNATTENDED: Final = "unattended"
    CHANGED: Final = "changed"
    SUPERSEDED: Final = "superseded"
    OUTCOME_UNKNOWN: Final = "outcome_unknown"
    OUTCOME_KNOWN: Final = "outcome_known"
    NOT_ON_RECORD: Final = "not_on_record"
    BAD_ANSWERS: Final = "bad_answers"
    TOO_MANY_REQUESTS: Final = "too_many_requests"
    WITHDRAWN: Final = "withdrawn"
    EXPIRED: Final = "expired"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """What one row said. `verdict` is `None` for a row that had nothing to say or was not reached."""

    layer: Layer
    verdict: Verdict | None
    code: str
    reason: str
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one call."""

    verdict: Verdict
    code: str
    reason: str
    """For operators. It may name rules, groups and zones; the model is told less."""
    layer: Layer
    trace: tuple[TraceRow, ...] = ()
    """The rows that were asked; from `explain`, all nine."""
    must_ask: bool = False
    """An argument policy said that a person must see it: no rule and no heuristic may release it."""
    needs_person: bool = False
    """Whether the approval rule or an argument policy called for a person, whoever released it then."""


MODEL_MESSAGES: Final = {
    Code.STOPPED: "All tool calls are stopped at the moment.",
    Code.UNKNOWN_TOOL: "There is no such tool.",
    Code.REJECTED: "A person rejected exactly this call. Do not repeat it.",
    Code.REJECTED_TOOL: "A person has rejected this tool several times. Do not call it again in this run.",
    Code.REPLACED: "A person replaced exactly this call by another one, which has been dealt with. Do not repeat it.",
    Code.STANDING_DENY: "A person said that this call must not be made. Do not repeat it.",
    Code.UNATTENDED: "It would need a person's approval, and nobody is there to give it.",
    Code.APPROVAL_REQUIRED: "It needs a person's approval, which was not given.",
    Code.INPUT_REQUIRED: "It needs input from a person, which was not given.",
    Code.CHANGED: (
        "What was judged and what is about to run are no longer the same. Propose the call again if it is still wanted."
    ),
    Code.SUPERSEDED: "Superseded, not executed: the user wrote something else while it was waiting.",
    Code.OUTCOME_UNKNOWN: (
        "It was started before and none was recorded, so its outcome is unknown. It was not run again."
    ),
    Code.NOT_ON_RECORD: "There is no record of its approval here. Propose the call again if it is still wanted.",
    Code.BAD_ANSWERS: "No usable answer came from the person who was asked.",
    Code.TOO_MANY_REQUESTS: "Too many calls of this turn need a person. Propose fewer at a time.",
    Code.WITHDRAWN: "The approval was withdrawn before it was used.",
    Code.EXPIRED: "It needed a person's approval, and nobody gave it in time.",
}
"""What the model is told, by code: a safe sentence and no rule text, group, zone or caller."""

_NOT_PERMITTED: Final = "It is not permitted here."


def what_the_model_is_told(code: str, reason: str) -> str:
    """The safe sentence for a code. Only faults in the model's own arguments are passed on in full."""
    if code == Code.INVALID_ARGUMENTS:
        return f"Its arguments are not valid: {reason}"
    return MODEL_MESSAGES.get(code, _NOT_PERMITTED)
