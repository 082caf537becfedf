"""The request for one saved call: what a person is shown of it, and what may be remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.approvals.request import ApprovalRequest, MemoryOffer
from toolgate_langchain.approvals.shown import MAX_SHOWN, show_text
from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.policy.shell_runners import carries_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolgate_langchain.approvals.turn import CallRecord, Run
    from toolgate_langchain.policy.approval_rule import AnswerType

__all__ = ["request_for", "warnings_of"]

_ANSWERS: Final[tuple[AnswerType, ...]] = ("approve", "edit", "reject", "respond")


def request_for(call: CallRecord, run: Run, arguments: Mapping[str, Any], position: int, of: int) -> ApprovalRequest:
    """What a person is shown about one waiting call.

    Args:
        call: The saved call.
        run: The run.
        arguments: Its effective arguments.
        position: Its place in the queue, from 1.
        of: How many calls of the turn need an answer.
    """
    typed = call.code == Code.INPUT_REQUIRED
    allowed = _allowed(call, typed=typed)
    warnings = warnings_of(call)
    rememberable = not typed and "approve" in allowed and not warnings
    return ApprovalRequest(
        request_id=call.request_id,
        digest=call.digest,
        tool_call_id=call.call_id,
        tool_name=call.name,
        origin=call.origin,
        arguments=arguments,
        tier="unclassified" if call.tier is None else call.tier.value,
        surface=run.context.surface.name,
        caller=run.context.caller_id,
        reason=call.reason,
        position=position,
        of=of,
        remember=_offers(call, arguments, run) if rememberable else (),
        warnings=warnings,
        notes=call.notes,
        preview="" if call.preview is None else call.preview.text,
        agent_path=run.agent_path,
        args_schema=call.args_schema,
        input_schema=call.input_schema,
        allowed=allowed,
        hint=_hint(call) if call.tier is None and call.origin == "local" else "",
    )


def warnings_of(call: CallRecord) -> tuple[str, ...]:
    """What could mislead whoever looks at the request: of the call, its preview, and the reason, which may quote it."""
    of_preview = () if call.preview is None else call.preview.warnings
    return (*call.warnings, *of_preview, *show_text(call.reason, what="the reason").warnings)


def _allowed(call: CallRecord, *, typed: bool) -> tuple[AnswerType, ...]:
    """The answers that a person may give; where none would be left, only a no."""
    return tuple(
        kind for kind in _ANSWERS if (call.allowed is None or kind in call.allowed) and not (typed and kind == "edit")
    ) or ("reject",)


def _offers(call: CallRecord, arguments: Mapping[str, Any], run: Run) -> tuple[MemoryOffer, ...]:
    """The "don't ask again"s that may be chosen, each saying in full what it would remember."""
    if call.preview is not None and call.preview.fault:
        return ()
    if call.memory == "never" or call.must_ask:
        return ()
    name = show_text(call.name).text
    offers: list[MemoryOffer] = []
    if call.exact and not call.sensitive:
        exactly = show_text(canonical_json(arguments))
        exact = [] if exactly.warnings else _each_scope(call, run, "arguments", f"{name} with exactly {exactly.text}")
        # Written as JSON they can be longer than as they are shown; a memory that cannot be read whole is not offered.
        offers += [offer for offer in exact if len(offer.text) <= MAX_SHOWN]
    if call.memory == "tool" and not carries_commands(arguments):
        offers += _each_scope(call, run, "tool", f"{name} with any arguments")
    return tuple(offers)


def _each_scope(call: CallRecord, run: Run, what: Literal["arguments", "tool"], calls: str) -> Iterator[MemoryOffer]:
    """One memory, for as far as it can reach.

    Args:
        call: The saved call.
        run: The run.
        what: What would be remembered.
        calls: The calls that it would cover, in words.
    """
    # Where no thread has a name, nothing but what the ledger keeps of a user outlives the run.
    if run.thread_id is not None:
        yield MemoryOffer(what, "thread", f"Always allow {calls} in this conversation")
    yield MemoryOffer(what, "run", f"Allow {calls} until this run ends")
    caller = run.context.caller_id
    if caller is not None and call.exact and not call.sensitive:
        yield MemoryOffer(what, "user", f"Always allow {calls} {_everywhere(call, run, caller)}")


def _everywhere(call: CallRecord, run: Run, caller: str) -> str:
    """On which conversations a rule of scope `user` holds, and until when."""
    surface, whose = show_text(run.context.surface.name).text, show_text(caller).text
    path = " > ".join(show_text(name).text for name in run.agent_path)
    agent = f", by the agent {path}" if path else ""
    return (
        f"in every conversation of {whose} on the surface {surface}{agent}, until the rule is revoked or the tool "
        f"({show_text(call.origin).text}) changes"
    )


def _hint(call: CallRecord) -> str:
    name = show_text(call.name).text
    return (
        f"{name} is unclassified. To classify it: @tool_profile(tier=Tier.ROUTINE), or another tier, above its @tool."
    )
