"""How one call is decided: nine rows, asked in order.

A row that denies ends it; the first row that allows ends it; strictness, never specificity, breaks
ties. The function is pure: what needs I/O or a clock is obtained by the hosts and handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolgate_langchain.canonical import digest
from toolgate_langchain.catalog.arguments import EffectiveArguments, unchecked_arguments
from toolgate_langchain.errors import InvalidArgumentsError
from toolgate_langchain.policy.arguments import ArgumentPolicy, ArgumentView, PolicyAnswer, ask_policy
from toolgate_langchain.policy.decision import Code, Decision, Layer, TraceRow
from toolgate_langchain.policy.gates import decide_offer
from toolgate_langchain.policy.resolving import ResolvingPolicy, resolved
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolgate_langchain.catalog.catalog import ToolCatalog
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.approval_rule import ApprovalRule
    from toolgate_langchain.policy.context import CallFacts, RulesInForce, RunContext, RunMemory
    from toolgate_langchain.policy.history import History

__all__ = ["REJECTIONS_PER_TOOL", "ProposedCall", "Rulebook", "call_key", "decide", "explain"]

REJECTIONS_PER_TOOL: Final = 3
"""After a person rejected a tool this often in one run, it is refused for the rest of the run."""


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """One tool call with what is known of its tool and its arguments."""

    name: str
    entry: CatalogEntry | None
    arguments: EffectiveArguments | None
    """`None` where the arguments do not fit; then `fault` says why."""
    fault: str = ""

    @classmethod
    def of(
        cls, name: str, arguments: Any, entry: CatalogEntry | None, resolving: Sequence[ResolvingPolicy] = ()
    ) -> ProposedCall:
        """Validate the model's arguments as the tool will, keeping the fault instead of raising.

        Args:
            name: The tool's name.
            arguments: The arguments as they were written.
            entry: The tool, if there is one.
            resolving: What resolves the names in the arguments (`Rulebook.resolving`).
        """
        if entry is None:
            return cls(name, None, None)
        try:
            schema = entry.arguments
            effective = unchecked_arguments(arguments) if schema is None else schema.effective(arguments)
            return cls(name, entry, resolved(entry, effective, resolving) if resolving else effective)
        except InvalidArgumentsError as error:
            return cls(name, entry, None, str(error))

    def view(self, context: RunContext, history: History | None) -> ArgumentView | None:
        """What an argument policy sees of it; `None` where no tool is known or the arguments do not fit.

        Args:
            context: Where and for whom it would run.
            history: What was read and said before it, where that is known.
        """
        if self.entry is None or self.arguments is None:
            return None
        return ArgumentView(
            self.name, self.arguments.values, self.entry, context.surface, context.caller, history, context.zone
        )


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What an operator configured: everything a decision depends on that no run changes."""

    catalog: ToolCatalog
    approval_rule: ApprovalRule
    argument_policies: tuple[ArgumentPolicy, ...] = ()

    @property
    def resolving(self) -> tuple[ResolvingPolicy, ...]:
        """Those of the argument policies that resolve what arguments name, in order."""
        if not self.argument_policies:
            return ()
        policies: tuple[object, ...] = self.argument_policies
        return tuple(policy for policy in policies if isinstance(policy, ResolvingPolicy))

    @property
    def needs_history(self) -> bool:
        """Whether one of the argument policies must be told what was read and said before a call."""
        return any(getattr(policy, "needs_history", False) is True for policy in self.argument_policies)


class _Tool(Protocol):
    """A tool, or what was saved of it with a turn."""

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> str: ...


def call_key(tool: _Tool, arguments: Mapping[str, Any]) -> str:
    """The key of "this very call": the tool, where it comes from, and its exact arguments."""
    return digest("toolgate:call:1", tool.name, tool.origin, arguments)


def decide(
    call: ProposedCall,
    context: RunContext,
    rulebook: Rulebook,
    rules: RulesInForce,
    memory: RunMemory,
    facts: CallFacts,
    heard: list[PolicyAnswer] | None = None,
) -> Decision:
    """Decide one call. Stops at the row that decides; the trace holds that row alone.

    What each argument policy said that was asked is added to `heard`, where a list is given.
    """
    return _decide(call, context, rulebook, rules, memory, facts, None, heard)


def explain(
    call: ProposedCall,
    context: RunContext,
    rulebook: Rulebook,
    rules: RulesInForce,
    memory: RunMemory,
    facts: CallFacts,
) -> Decision:
    """Decide one call as `decide` does, with all nine rows in the trace."""
    trace: list[TraceRow] = []
    decision = _decide(call, context, rulebook, rules, memory, facts, trace)
    reached = {row.layer for row in (*trace, *decision.trace)}
    unreached = [TraceRow(layer, None, "", "not reached") for layer in Layer if layer not in reached]
    return replace(decision, trace=(*trace, *decision.trace, *unreached))


def _decide(
    call: ProposedCall,
    context: RunContext,
    rulebook: Rulebook,
    rules: RulesInForce,
    memory: RunMemory,
    facts: CallFacts,
    trace: list[TraceRow] | None,
    heard: list[PolicyAnswer] | None = None,
) -> Decision:
    """Ask the rows in order. Rows that let the call pass go into the trace, where there is one."""
    # 0 - switch
    if facts.stopped:
        return _denied(Layer.SWITCH, Code.STOPPED, "all releases are stopped")
    _passed(trace, Layer.SWITCH, "releases are not stopped")

    # 1 - identity
    entry, arguments = call.entry, call.arguments
    if entry is None:
        return _denied(Layer.IDENTITY, Code.UNKNOWN_TOOL, f"{call.name!r} is not a tool of this agent")
    if arguments is None:
        return _denied(Layer.IDENTITY, Code.INVALID_ARGUMENTS, call.fault)
    _passed(trace, Layer.IDENTITY, "a tool of this agent, and its arguments fit")

    # 2 - gates
    offer = decide_offer(entry, context, rulebook.catalog)
    if not offer.allowed:
        return _denied(Layer.GATES, offer.code, offer.reason)
    _passed(trace, Layer.GATES, "it may take part in this run")

    # 3 - argument policies
    must_ask, asked_because = False, ""
    for policy in rulebook.argument_policies:
        view = call.view(context, facts.history)
        assert view is not None
        answer = ask_policy(policy, view)
        if heard is not None:
            heard.append(answer)
        if answer.verdict is Verdict.DENY:
            return _denied(
                Layer.ARGUMENT_POLICIES, Code.ARGUMENT_POLICY, answer.reason, must_ask=must_ask, needs_person=must_ask
            )
        if answer.verdict is Verdict.ASK and not must_ask:
            must_ask, asked_because = True, answer.reason
    _passed(trace, Layer.ARGUMENT_POLICIES, asked_because or "no objection", asks=must_ask)

    # 4 - standing denies
    denied = _standing_deny(entry, arguments.values, rules, memory)
    if denied is not None:
        return _denied(Layer.STANDING_DENIES, *denied, must_ask=must_ask, needs_person=must_ask)
    _passed(trace, Layer.STANDING_DENIES, "nobody said never, nor rejected it in this run")

    # 5 - approval rule
    need = rulebook.approval_rule.need(entry, context.surface, arguments.values, facts.predicate)
    if not need.needed and not must_ask:
        return _decided(Layer.APPROVAL_RULE, Verdict.ALLOW, Code.NOT_REQUIRED, need.reason)
    why = need.reason if need.needed else asked_because
    _passed(trace, Layer.APPROVAL_RULE, why, asks=True)

    # 6 - standing allows, and 7 - heuristics, which the same things keep from releasing
    barred = _barred(facts, must_ask=must_ask, typed_input=need.typed_input)
    allowed = None if barred else rules.allows(entry, arguments.values)
    if allowed is not None:
        return _decided(Layer.STANDING_ALLOWS, Verdict.ALLOW, Code.STANDING_RULE, allowed, needs_person=True)
    _passed(trace, Layer.STANDING_ALLOWS, barred or "no rule matches")
    if facts.heuristic is not None and not barred:
        code, reason = f"heuristic:{facts.heuristic}", f"heuristic {facts.heuristic!r} said yes"
        return _decided(Layer.HEURISTICS, Verdict.ALLOW, code, reason, needs_person=True)
    unheard = "none said yes" if facts.heuristics_run else "heuristics not run"
    _passed(trace, Layer.HEURISTICS, barred or unheard)

    # 8 - surface
    if context.surface.attended:
        code = Code.INPUT_REQUIRED if need.typed_input else Code.APPROVAL_REQUIRED
        return _decided(Layer.SURFACE, Verdict.ASK, code, why, must_ask=must_ask, needs_person=True)
    reason = f"nobody is there on surface {context.surface.name!r}: {why}"
    return _denied(Layer.SURFACE, Code.UNATTENDED, reason, must_ask=must_ask, needs_person=True)


def _standing_deny(
    entry: CatalogEntry, arguments: Mapping[str, Any], rules: RulesInForce, memory: RunMemory
) -> tuple[str, str] | None:
    if (reason := rules.denies(entry, arguments)) is not None:
        return Code.STANDING_DENY, reason
    if memory.rejected or memory.replaced:
        key = call_key(entry, arguments)
        if key in memory.rejected:
            return Code.REJECTED, "a person rejected this very call in this run"
        if key in memory.replaced:
            return Code.REPLACED, "a person replaced this very call by another in this run"
    if (count := memory.rejections.get(entry.name, 0)) >= REJECTIONS_PER_TOOL:
        return Code.REJECTED_TOOL, f"people rejected this tool {count} times in this run"
    return None


def _barred(facts: CallFacts, *, must_ask: bool, typed_input: bool) -> str:
    """Why neither a rule nor a heuristic may release the call; empty where they may."""
    if must_ask:
        return "an argument policy says that a person must see it"
    if typed_input:
        return "only a person can fill in its input"
    if facts.warnings:
        return "it is shown with warnings"
    if facts.variant:
        return "it is a variant of a call that was rejected"
    if facts.at_cap:
        return "the run has used up its auto-approved turns"
    return ""


def _passed(trace: list[TraceRow] | None, layer: Layer, reason: str, *, asks: bool = False) -> None:
    if trace is not None:
        trace.append(TraceRow(layer, Verdict.ASK if asks else None, "", reason))


def _denied(layer: Layer, code: str, reason: str, *, must_ask: bool = False, needs_person: bool = False) -> Decision:
    return _decided(layer, Verdict.DENY, code, reason, must_ask=must_ask, needs_person=needs_person)


def _decided(
    layer: Layer, verdict: Verdict, code: str, reason: str, *, must_ask: bool = False, needs_person: bool = False
) -> Decision:
    row = TraceRow(layer, verdict, code, reason, decided=True)
    return Decision(verdict, code, reason, layer, (row,), must_ask, needs_person)
