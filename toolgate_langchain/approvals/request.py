"""What a person is shown about one call, and the shape in which it leaves the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.approvals.shown import show_arguments, show_text
from toolgate_langchain.canonical import digest
from toolgate_langchain.errors import InvalidAnswerError

if TYPE_CHECKING:
    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.rules import Scope
    from toolgate_langchain.approvals.unknown import OutcomeAnswer
    from toolgate_langchain.policy.approval_rule import AnswerType

__all__ = [
    "INTERRUPT_REASON",
    "OUTCOME_REASON",
    "ApprovalRequest",
    "MemoryOffer",
    "is_approval_interrupt",
    "request_digest",
]

INTERRUPT_REASON: Final = "toolgate:approval"
"""Marks an interrupt as the gate's among others."""

OUTCOME_REASON: Final = "toolgate:outcome"
"""Marks an interrupt as the gate's question what became of a call."""

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class MemoryOffer:
    """One "don't ask again" that a person may choose, with exactly what it would remember."""

    what: Literal["arguments", "tool"]
    scope: Scope
    text: str


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What a person is shown about one call. Rendered from the frozen call, never from the model's words."""

    request_id: str
    digest: str
    tool_call_id: str
    tool_name: str
    origin: str
    arguments: Mapping[str, Any]
    """The effective arguments, exactly as they will run."""
    tier: str
    surface: str
    caller: str | None
    reason: str
    """Why it is asked."""
    position: int
    """Place in the queue, from 1."""
    of: int
    """How many calls of the turn need an answer."""
    remember: tuple[MemoryOffer, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Circumstances that are no warning: turns that ran unasked, an earlier version of the call."""
    preview: str = ""
    """What the tool says that the call would do; not yet made fit to be shown."""
    agent_path: tuple[str, ...] = ()
    args_schema: Mapping[str, Any] | None = None
    input_schema: Mapping[str, Any] | None = None
    allowed: tuple[AnswerType | OutcomeAnswer, ...] = ("approve", "edit", "reject", "respond")
    hint: str = ""
    """How to classify the tool, where it is unclassified."""
    error: str = ""
    """What was wrong with the last answer to this request."""
    shown_arguments: Mapping[str, str] = field(default_factory=dict)
    expires_at: datetime | None = None
    """Until when it can be answered; `None` for as long as it waits."""
    kind: Literal["approval", "outcome"] = "approval"
    """What a person is asked: whether a call may run, or what became of one that nobody knows the outcome of."""

    def description(self) -> str:
        """The whole call as text, every character visible."""
        name = show_text(self.tool_name, what="the tool's name").text
        lines = [f"Tool: {name} ({self.tier}, {show_text(self.origin).text})"]
        shown = self.shown_arguments or show_arguments(self.arguments)[0]
        lines += ["Arguments: none"] if not shown else [f"  {key}: {_inset(text)}" for key, text in shown.items()]
        if self.preview:
            lines.append(f"It would do: {_inset(show_text(self.preview).text)}")
        lines.append(f"Asked because: {_inset(show_text(self.reason).text)}")
        surface = _inset(show_text(self.surface).text)
        caller = "" if self.caller is None else f", for {_inset(show_text(self.caller).text)}"
        lines.append(f"Surface: {surface}{caller}")
        if self.agent_path:
            lines.append(f"Agent: {' > '.join(show_text(name).text for name in self.agent_path)}")
        if self.expires_at is not None:
            lines.append(f"Can be answered until {self.until}")
        lines += [f"Warning: {warning}" for warning in self.warnings]
        lines += [f"Note: {note}" for note in self.notes]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)

    @property
    def until(self) -> str:
        """Until when it can be answered, for a person; empty for as long as it waits."""
        return "" if self.expires_at is None else f"{self.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    def to_interrupt(self) -> dict[str, Any]:
        """The interrupt value: the shape that existing approval screens read, with ours beside it."""
        description = self.description()
        schema = self.input_schema if self.input_schema is not None else self.args_schema
        place = f" ({self.position} of {self.of})" if self.of > 1 else ""
        needed = f"Approval needed{place}" if self.kind == "approval" else "Outcome unknown"
        # Words that every screen knows; those for an unknown outcome stand beside them.
        decisions = list(self.allowed) if self.kind == "approval" else ["respond", "reject"]
        return {
            "action_requests": [
                {
                    "name": self.tool_name,
                    "args": dict(self.arguments),
                    "arguments": dict(self.arguments),
                    "description": description,
                    "tool_call_id": self.tool_call_id,
                }
            ],
            "review_configs": [
                {
                    "action_name": self.tool_name,
                    "allowed_decisions": decisions,
                    "actionName": self.tool_name,
                    "allowedDecisions": decisions,
                    # Left out where there is none: screens that check the request refuse a null here.
                    **({} if schema is None else {"args_schema": dict(schema)}),
                }
            ],
            "message": f"{self.error or needed}\n\n{description}",
            "reason": INTERRUPT_REASON if self.kind == "approval" else OUTCOME_REASON,
            "tool_call_id": self.tool_call_id,
            "expires_at": None if self.expires_at is None else self.expires_at.isoformat(),
            "toolgate": {
                "v": _FORMAT,
                "kind": self.kind,
                **({} if self.kind == "approval" else {"answers": list(self.allowed)}),
                "request_id": self.request_id,
                "digest": self.digest,
                "tier": self.tier,
                "origin": self.origin,
                "surface": self.surface,
                "caller": self.caller,
                "agent_path": list(self.agent_path),
                "asked_because": self.reason,
                "queue": {"position": self.position, "of": self.of},
                "remember": [{"what": offer.what, "scope": offer.scope, "text": offer.text} for offer in self.remember],
                "warnings": list(self.warnings),
                "notes": list(self.notes),
                "preview": self.preview,
                "input_schema": None if self.input_schema is None else dict(self.input_schema),
                "hint": self.hint,
                "error": self.error or None,
            },
        }

    def answer_from(self, value: Any) -> ApprovalAnswer:
        """Read what a screen sent back about this request, which it was shown.

        For screens that cannot send the request's id: whoever calls this vouches for what was shown.
        Where the answer itself names no request, it carries no memory.

        Args:
            value: What the screen sent, in any shape that `approvals.screens` knows.

        Raises:
            InvalidAnswerError: If it means nothing here; show the request again with the message.
        """
        from toolgate_langchain.approvals.answer import read_answer

        answer = read_answer(value, self)
        if answer.request_id is not None:
            return answer
        return replace(answer, request_id=self.request_id, remember=None)

    @classmethod
    def from_interrupt(cls, value: Any) -> ApprovalRequest:
        """Read a request back from an interrupt value, in this process or another.

        Raises:
            InvalidAnswerError: If the value is not one of this package's requests, or a newer form.
        """
        if not is_approval_interrupt(value):
            raise InvalidAnswerError("the interrupt is not an approval request of this package")
        ours, action, review = (
            value["toolgate"],
            value["action_requests"][0],
            value["review_configs"][0],
        )
        if ours.get("v") != _FORMAT:
            raise InvalidAnswerError(f"the request has format {ours.get('v')!r}; this version reads {_FORMAT}")
        return cls(
            request_id=ours["request_id"],
            digest=ours["digest"],
            tool_call_id=value["tool_call_id"],
            tool_name=action["name"],
            origin=ours["origin"],
            arguments=action["args"],
            tier=ours["tier"],
            surface=ours["surface"],
            caller=ours["caller"],
            reason=ours["asked_because"],
            position=ours["queue"]["position"],
            of=ours["queue"]["of"],
            remember=tuple(MemoryOffer(**offer) for offer in ours["remember"]),
            warnings=tuple(ours["warnings"]),
            notes=tuple(ours["notes"]),
            preview=ours["preview"],
            agent_path=tuple(ours["agent_path"]),
            args_schema=None if ours["input_schema"] is not None else review.get("args_schema"),
            input_schema=ours["input_schema"],
            allowed=tuple(ours.get("answers") or review["allowed_decisions"]),
            hint=ours["hint"],
            error=ours["error"] or "",
            expires_at=None if value["expires_at"] is None else datetime.fromisoformat(value["expires_at"]),
            kind=ours.get("kind", "approval"),
        )


def _inset(text: str) -> str:
    """Text of several lines, none of which can pass for a line of the request itself."""
    return text.replace("\n", "\n    ")


def is_approval_interrupt(value: Any) -> bool:
    """Whether an interrupt's value is one of this package's requests."""
    return (
        isinstance(value, Mapping)
        and value.get("reason") in (INTERRUPT_REASON, OUTCOME_REASON)
        and isinstance(value.get("toolgate"), Mapping)
        and len(value.get("action_requests") or ()) == 1
        and len(value.get("review_configs") or ()) == 1
    )


def request_digest(
    *,
    tool: str,
    origin: str,
    fingerprint: str,
    arguments: Mapping[str, Any],
    surface: str,
    thread: str | None,
    agent_path: tuple[str, ...],
    run: str,
    turn: str,
    caller: str | None,
    call_id: str,
) -> str:
    """The digest that binds a request, its answer and its grant to one exact call.

    One canonical, versioned array, so that no part can stand in for another.
    """
    return digest(
        "toolgate:request:1", tool, origin, fingerprint, arguments, surface, thread, list(agent_path), run, turn,
        caller, call_id,
    )  # fmt: skip
