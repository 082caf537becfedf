"""What existing approval screens send back, translated into the answers that this package reads.

Each screen was made for some other host, and each has its own words:

LangChain's own shape (Agent Chat UI, deep-agents-ui, deepagents-code): `{"decisions": [d]}`, read as it is.
agent-inbox, where it read LangChain's shape: `{"decisions": [{"type", "args"}]}`, with `ignore` as one more type.
agent-inbox, its own shape: `[{"type", "args"}]`, the type being `accept`, `edit`, `response` or `ignore`.
deepagents-acp: `{"decisions": [{"type": "reject", "feedback"}]}` where LangChain says `message`.
A page with two buttons: `{"approved", "reason"}`, the first being `true` or `false`.
AG-UI's bridge to LangGraph, where a person closed the question: `{"__agui_cancelled__": true, "interrupt_id"}`.

Nothing is guessed: what is not exactly one of these goes on as it came, and is refused there as an
answer that means nothing. Each of them may name its request (`request_id`), and a gate whose answers
are `"strict"` wants that. A screen that cannot send an id is served in one of two ways: whoever
receives its answer knows what it was shown and reads it with `ApprovalRequest.answer_from`, or the
gate is made with `answers="lenient"`. Either way such an answer makes no standing rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.errors import InvalidAnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.request import ApprovalRequest

__all__ = ["CANCELLED", "translated"]

CANCELLED: Final = "__agui_cancelled__"
"""The key by which AG-UI's LangGraph integration marks an interrupt that a person closed unanswered."""

_KEPT: Final = ("request_id", "by")
"""What an answer in any shape may say in our own words."""

_OWN_WORDS: Final = {"accept": "approve", "edit": "edit", "response": "respond", "ignore": "reject"}
_LANGCHAINS_WORDS: Final = {"approve": "approve", "edit": "edit", "reject": "reject", "ignore": "reject"}


def translated(value: Any, request: ApprovalRequest | None = None) -> Any:
    """An answer of another screen in the shape that this package reads; anything else as it is.

    Args:
        value: Plain JSON.
        request: What the screen was shown, where that is known.

    Raises:
        InvalidAnswerError: If the shape is one of another screen and its content is not.
    """
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict) and _word(value[0], _OWN_WORDS) is not None:
            return _from_inbox(value[0], _OWN_WORDS, request)
        return value
    if not isinstance(value, dict):
        return value
    if CANCELLED in value:
        return _from_cancelled(value)
    if "approved" in value:
        return _from_approved(value)
    decisions = value.get("decisions")
    if isinstance(decisions, list) and len(decisions) == 1 and isinstance(decisions[0], dict):
        return {**value, "decisions": [_from_decision(decisions[0], request)]}
    return value


def _from_decision(decision: dict[str, Any], request: ApprovalRequest | None) -> dict[str, Any]:
    if "args" in decision or decision.get("type") == "ignore":
        known = _word(decision, _LANGCHAINS_WORDS) is not None
        return _from_inbox(decision, _LANGCHAINS_WORDS, request) if known else decision
    if "feedback" in decision and decision.get("type") == "reject" and "message" not in decision:
        return {("message" if key == "feedback" else key): item for key, item in decision.items()}
    return decision


def _word(answer: Mapping[str, Any], words: Mapping[str, str]) -> str | None:
    kind = answer.get("type")
    return words.get(kind) if isinstance(kind, str) else None


def _from_inbox(answer: Mapping[str, Any], words: Mapping[str, str], request: ApprovalRequest | None) -> dict[str, Any]:
    """One answer of agent-inbox: a type, and `args` whose meaning depends on it."""
    kind, said = str(answer["type"]), answer.get("args")
    _only(answer, "type", "args")
    plain: dict[str, Any] = {"type": words[kind], **_kept(answer)}
    if words[kind] == "edit":
        return {**plain, "edited_action": _action(said, kind)}
    if words[kind] == "approve":
        if said is not None:
            _check_shown(_action(said, kind), request)
        return plain
    if kind in ("ignore", "reject") and said is None:
        return plain
    if kind == "ignore" or not isinstance(said, str):
        raise InvalidAnswerError(f'"args" of {kind!r} must be {"null" if kind == "ignore" else "a text"}')
    asked = None if request is None or request.kind != "approval" else request
    if kind == "response" and asked is not None and "respond" not in asked.allowed:
        # Either way nothing runs and the model reads the text; this tool's result may not be written by hand.
        plain["type"] = "reject"
    return {**plain, "message": said}


def _action(said: Any, kind: str) -> dict[str, Any]:
    if not isinstance(said, dict) or set(said) != {"action", "args"}:
        raise InvalidAnswerError(f'"args" of {kind!r} must be {{"action": ..., "args": {{...}}}}')
    return {"name": said["action"], "args": said["args"]}


def _check_shown(action: Mapping[str, Any], request: ApprovalRequest | None) -> None:
    """Refuse an approval of something else than what waits: a page that was left open, or changed on the way.

    Raises:
        InvalidAnswerError: If it is of another call, or if nobody knows what was shown.
    """
    if request is None:
        raise InvalidAnswerError(
            "the answer says what it approves, and here nobody knows what was shown; "
            "read it with ApprovalRequest.answer_from"
        )
    shown = {"name": request.tool_name, "args": dict(request.arguments)}
    if canonical_json(_in_javascript(action)) != canonical_json(_in_javascript(shown)):
        raise InvalidAnswerError(f"it approves other arguments than those of this call of {request.tool_name!r}")


def _in_javascript(value: Any) -> Any:
    """A value as a page sends it back: there `2.0` and `2` are one number."""
    if isinstance(value, dict):
        return {key: _in_javascript(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_javascript(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _from_approved(value: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a page with two buttons."""
    _only(value, "approved", "reason")
    approved, reason = value["approved"], value.get("reason")
    if not isinstance(approved, bool):
        raise InvalidAnswerError(f'"approved" must be true or false, not {canonical_json(approved)[:64]}')
    if reason is not None and not isinstance(reason, str):
        raise InvalidAnswerError('"reason" must be a text')
    plain = {"type": "approve" if approved else "reject", **_kept(value)}
    return plain if reason is None else {**plain, "message": reason}


def _from_cancelled(value: Mapping[str, Any]) -> dict[str, Any]:
    """A question that was closed without an answer, which is a no."""
    _only(value, CANCELLED, "interrupt_id")
    if value[CANCELLED] is not True:
        raise InvalidAnswerError(f'"{CANCELLED}" must be true')
    return {"type": "reject", **_kept(value)}


def _only(value: Mapping[str, Any], *keys: str) -> None:
    if unknown := sorted(set(value) - {*keys, *_KEPT}):
        raise InvalidAnswerError(f"unknown fields in the answer: {', '.join(unknown)[:200]}")


def _kept(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in _KEPT if key in value}
