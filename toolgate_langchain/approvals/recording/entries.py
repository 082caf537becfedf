"""What one entry of the record says: a call that was judged, decided about, or that ended.

An entry is plain JSON with sensitive values masked. It is made before it is written, so that what cannot be recorded
cannot run either.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal

from toolgate_langchain.approvals.recording.given import Question, write_given
from toolgate_langchain.approvals.rules import RuleIndex, RuleView
from toolgate_langchain.canonical import canonical_json, digest
from toolgate_langchain.policy.decision import Code, Layer
from toolgate_langchain.policy.sensitive import MASK, holds_sensitive, masked
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.policy.decision import Decision

__all__ = ["Entry", "Kind", "Which", "decided", "decider", "ended", "judged"]

FORMAT: Final = 1
"""The version of what an entry says."""

Kind = Literal["judged", "decided", "ended"]
"""`judged`: what was decided of a call when its turn arrived, before anybody was asked. `decided`: whether it ran, and
who or what decided. `ended`: what came of a call that ran."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the record on its way into a ledger."""

    kind: Kind
    request_id: str
    thread_id: str | None
    detail: Mapping[str, Any]
    once: str = ""
    """What is the same in every replay of what it tells, which is written once; empty where it cannot come twice."""

    def late(self) -> Entry:
        """The end of an attempt that had lost its call: it says how that attempt ended, and not what the model got."""
        return replace(self, detail={**self.detail, "late": True})


@dataclass(frozen=True, slots=True)
class Which:
    """The call that an entry is about, and where it was made."""

    run: Run
    turn_id: str
    call_id: str
    name: str
    arguments: Any
    """What ran, or would have run; `None` where it could not be read."""
    request_id: str
    """The request's id, or the one that stands in for it where nobody was asked."""
    digest: str = ""
    """What binds its grant, or the digest of the call as the model made it."""
    tier: str = ""
    """Its tool's tier; empty for an unknown tool."""
    declared: Collection[str] = field(default=())
    """The names of arguments that its profile declares sensitive."""

    @property
    def sensitive(self) -> bool:
        """Whether something in the arguments is masked."""
        return holds_sensitive(self.arguments, self.declared)

    def to_json(self) -> dict[str, Any]:
        """The call as the record has it."""
        return {
            "id": self.call_id,
            "tool": self.name,
            "tier": self.tier or None,
            "arguments": masked(self.arguments, self.declared),
            "digest": self.digest,
        }

    def where(self) -> dict[str, Any]:
        """Where it was made, and for whom."""
        context = self.run.context
        plain: dict[str, Any] = {
            "run": self.run.id,
            "turn": self.turn_id,
            "agent": list(self.run.agent_path),
            "surface": context.surface.name,
            "caller": context.caller_id,
        }
        return {name: value for name, value in plain.items() if value not in (None, "", [])}


def judged(which: Which, decision: Decision, question: Question, shown: Mapping[str, Any] | None) -> Entry:
    """The entry of a call that was judged with its turn.

    Args:
        which: The call.
        decision: What was decided then; `ask` where a person is asked.
        question: What `decide` was asked.
        shown: What the person is shown, rendered from masked arguments; `None` where nobody is asked.
    """
    by = {} if decision.verdict is Verdict.ASK else {"by": decider(decision, question, which.run)}
    return _entry("judged", which, decision, question, by if shown is None else {**by, "shown": shown})


def decided(which: Which, decision: Decision, question: Question | None, by: Mapping[str, Any]) -> Entry:
    """The entry of a call at its end: of one that runs, before it does.

    A refusal is saved after it is written. A worker that dies in between leaves a refusal that is made again, and is
    the same one as long as its code is.

    Args:
        which: The call.
        decision: What was decided.
        question: What `decide` was asked; `None` where it was not.
        by: Who or what decided.
    """
    entry = _entry("decided", which, decision, question, {"by": dict(by)})
    if decision.verdict is Verdict.ALLOW or not which.call_id:
        return entry
    place = (which.run.id, list(which.run.agent_path), which.run.start, which.turn_id, which.call_id, which.request_id)
    return replace(entry, once=digest("toolgate:refused:1", *place, decision.code))


def _entry(kind: Kind, which: Which, decision: Decision, question: Question | None, more: Mapping[str, Any]) -> Entry:
    detail: dict[str, Any] = {
        "v": FORMAT,
        "call": which.to_json(),
        "where": which.where(),
        "decision": {
            "verdict": decision.verdict.value,
            "code": decision.code,
            "layer": decision.layer.value,
            # Policies and operators write reasons, and may quote what they were given.
            "reason": MASK if which.sensitive and _quotes(decision) else decision.reason,
        },
        **more,
    }
    if question is not None:
        said, call = question.said, question.call
        if call.entry is not None and call.arguments is None:
            # Validators may quote what they were given.
            detail["call"]["fault"] = MASK if which.sensitive else call.fault
        # The call as it was asked about, which need not be the one that is recorded.
        arguments = None if call.arguments is None else masked(call.arguments.values, which.declared)
        if arguments != detail["call"]["arguments"]:
            detail["asked_with"] = arguments
        detail["said"] = {
            "verdict": said.verdict.value,
            "code": said.code,
            "layer": said.layer.value,
            "must_ask": said.must_ask,
            "needs_person": said.needs_person,
        }
        given = write_given(question)
        if which.sensitive:
            given["policies"] = [[name, verdict, MASK] for name, verdict, _ in given.get("policies", ())]
        detail["given"] = given
    return Entry(kind, which.request_id, which.run.thread_id, detail)


def _quotes(decision: Decision) -> bool:
    return decision.layer is Layer.ARGUMENT_POLICIES or decision.must_ask or decision.code == Code.INVALID_ARGUMENTS


def ended(which: Which, status: str, result: Any, *, error: str = "", content: bool = False) -> Entry:
    """The entry of a call that ran: how it ended, and what came out.

    Args:
        which: The call.
        status: `finished`, `failed`, `paused`, or `unknown` where it was cut off in its middle.
        result: What came out as plain JSON or text; `None` for nothing.
        error: The kind of the error that it raised.
        content: Whether what came out is kept itself, and not only its digest and size.
    """
    detail: dict[str, Any] = {"v": FORMAT, "call": {"id": which.call_id, "tool": which.name}, "where": which.where()}
    detail["status"] = status
    if error:
        detail["error"] = error
    if result is not None:
        text = result if isinstance(result, str) else canonical_json(result)
        written = text.encode()
        detail["result"] = {"digest": sha256(written).hexdigest(), "bytes": len(written)}
        if content:
            detail["result"]["content"] = masked(result, which.declared)
    return Entry("ended", which.request_id, which.run.thread_id, detail)


_OPERATORS: Final = frozenset({Layer.SWITCH, Layer.GATES, Layer.APPROVAL_RULE, Layer.SURFACE})
"""Rows that say what an operator configured."""


def decider(decision: Decision, question: Question | None, run: Run) -> dict[str, Any]:
    """Who or what decided, where it was no person: a rule with its id, a heuristic, a policy, or the configuration.

    Args:
        decision: What was decided.
        question: What `decide` was asked, where it was.
        run: The run that the call was made in.
    """
    if question is None or question.said.code != decision.code:
        return {"kind": "gate"}
    if decision.layer in (Layer.STANDING_ALLOWS, Layer.STANDING_DENIES):
        rule = _rule(question, run, "allow" if decision.verdict is Verdict.ALLOW else "deny")
        # A call that was rejected before in the run is refused without a rule.
        return {"kind": "memory"} if rule is None else {"kind": "rule", **rule}
    if decision.layer is Layer.HEURISTICS:
        return {"kind": "heuristic", "id": question.facts.heuristic}
    if decision.layer is Layer.ARGUMENT_POLICIES:
        return {"kind": "policy", "id": question.heard[-1][0]}
    return {"kind": "configuration" if decision.layer in _OPERATORS else "gate", "id": decision.layer.value}


def _rule(question: Question, run: Run, effect: str) -> dict[str, Any] | None:
    """The rule that decided: the first that matches by itself."""
    rules, call = question.rules, question.call
    if not isinstance(rules, RuleView) or call.entry is None or call.arguments is None:
        return None
    for rule in rules.index.matching(call.entry, call.arguments.values):
        alone = RuleView(
            RuleIndex((rule,)),
            surface=question.context.surface.name,
            agent_path=run.agent_path,
            run_id=run.id,
            now=rules.now,
            caller=question.context.caller_id,
        )
        look = alone.allows if effect == "allow" else alone.denies
        if rule.effect == effect and look(call.entry, call.arguments.values) is not None:
            return {"id": rule.request_id, "made_by": rule.created_by, "scope": rule.scope}
    return None
