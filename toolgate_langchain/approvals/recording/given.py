"""What a decision was made on, as one compact piece of plain JSON, and back into what `decide` takes.

Whatever `decide` looks at stands in it, so that the same question can be asked again years later, without the tools,
the policies, the rules and the configuration of that time. Of the arguments there is what a record may hold: sensitive
values are masked, and whatever was matched against the real ones is kept as what came of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.recording.tools import read_tool, write_tool
from toolgate_langchain.approvals.rules import RuleIndex, RuleView, StandingRule
from toolgate_langchain.catalog.arguments import EffectiveArguments
from toolgate_langchain.catalog.catalog import ToolCatalog
from toolgate_langchain.policy.approval_rule import AnswerType, ApprovalRule
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.caller import Caller, RunConfiguration
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RulesInForce, RunContext, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, call_key, decide
from toolgate_langchain.policy.surface import Surface
from toolgate_langchain.vocabulary import TrustZone, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolgate_langchain.policy.decision import Decision

__all__ = ["Question", "read_given", "write_given"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question to `decide`, and what it said."""

    call: ProposedCall
    context: RunContext
    rulebook: Rulebook
    rules: RulesInForce
    memory: RunMemory
    facts: CallFacts
    said: Decision
    heard: Sequence[tuple[str, PolicyAnswer]] = ()
    """What each argument policy said that was asked, in order, by its name."""

    def again(self) -> Decision:
        """Ask it once more."""
        return decide(self.call, self.context, self.rulebook, self.rules, self.memory, self.facts)


def write_given(question: Question) -> dict[str, Any]:
    """What a decision was made on; what is at its default is left out.

    Args:
        question: What `decide` was asked.
    """
    call, context, rulebook, facts = question.call, question.context, question.rulebook, question.facts
    surface = context.surface
    given: dict[str, Any] = {
        "surface": {
            "name": surface.name,
            "attended": surface.attended,
            "answers": [answer.value for answer in _answers(surface)],
        },
        "caller": None if context.caller is None else {"id": context.caller.id, "admin": context.caller.admin},
        "configurations": [one.to_json() for one in context.configurations],
        "zone": None if context.zone is None else context.zone.value,
        "undeclared_remote": rulebook.approval_rule.undeclared_remote,
        "policies": [[name, answer.verdict.value, answer.reason] for name, answer in question.heard],
        "facts": _facts(facts),
    }
    if call.entry is not None:
        given["tool"] = write_tool(call.entry, rulebook.catalog)
        given["asks"] = call.entry.name in rulebook.approval_rule.asks
        given["memory"] = _memory(question)
        if call.arguments is not None and isinstance(question.rules, RuleView):
            given["now"] = question.rules.now.isoformat()
            matching = question.rules.index.matching(call.entry, call.arguments.values)
            given["rules"] = [_rule(rule) for rule in matching]
    return {name: value for name, value in given.items() if value not in (None, [], {}, False)}


def _answers(surface: Surface) -> tuple[Verdict, ...]:
    from toolgate_langchain.vocabulary import Tier

    return tuple(surface.answer(tier) for tier in (Tier.READ_ONLY, Tier.ROUTINE, Tier.CONSEQUENTIAL, None))


def _facts(facts: CallFacts) -> dict[str, Any]:
    plain = {
        "predicate": facts.predicate,
        "heuristic": facts.heuristic,
        "heuristics_run": facts.heuristics_run,
        "warnings": len(facts.warnings),
        "variant": facts.variant,
        "at_cap": facts.at_cap,
        "stopped": facts.stopped,
    }
    # A predicate's no counts, and is not the same as that it was not asked.
    return {name: value for name, value in plain.items() if value or (name == "predicate" and value is not None)}


def _memory(question: Question) -> dict[str, Any]:
    """What the run remembers of this call and its tool; the rest cannot make a difference."""
    call, memory = question.call, question.memory
    assert call.entry is not None
    key = None if call.arguments is None else call_key(call.entry, call.arguments.values)
    plain = {
        "rejected": key in memory.rejected,
        "replaced": key in memory.replaced,
        "rejections": memory.rejections.get(call.entry.name, 0),
        "auto_approved_turns": memory.auto_approved_turns,
    }
    return {name: value for name, value in plain.items() if value}


def _rule(rule: StandingRule) -> dict[str, Any]:
    """A rule that was written for the call; the arguments are the call's own, so that they are not repeated."""
    plain = {name: value for name, value in rule.to_json().items() if name != "arguments" and value is not None}
    return {**plain, "exact": rule.arguments is not None}


def read_given(given: Any, call: Mapping[str, Any], where: Mapping[str, Any]) -> Callable[[], Decision]:
    """The question that a decision was the answer to, ready to be asked again.

    Args:
        given: What `write_given` gave.
        call: The call as the record has it: `tool`, and `arguments` or a `fault`.
        where: Where it was made: `run` and `agent`.

    Raises:
        KeyError, TypeError, ValueError: If it is nothing that `write_given` gives.
    """
    surface, caller = given["surface"], given.get("caller")
    read_only, routine, consequential, unclassified = map(Verdict, surface["answers"])
    context = RunContext(
        Surface(
            surface["name"],
            attended=surface.get("attended", False),
            read_only=read_only,
            routine=routine,
            consequential=consequential,
            unclassified=unclassified,
        ),
        None if caller is None else Caller(**caller),
        tuple(RunConfiguration.from_json(one) for one in given.get("configurations", ())),
        None if given.get("zone") is None else TrustZone(given["zone"]),
    )
    name, written, tool = call["tool"], call.get("arguments"), given.get("tool")
    asks: dict[str, tuple[AnswerType, ...]] = {name: ("approve",)} if given.get("asks") else {}
    rule = ApprovalRule(undeclared_remote=given["undeclared_remote"], asks=asks)
    policies = tuple(_policy(*one) for one in given.get("policies", ()))
    if tool is None:
        proposed, catalog = ProposedCall(name, None, None), ToolCatalog()
    else:
        entry, catalog = read_tool(name, tool)
        arguments = None if written is None else EffectiveArguments(dict(written))
        proposed = ProposedCall(name, entry, arguments, call.get("fault", ""))
    rules = _rules(given, written, context, where)
    memory = _read_memory(given.get("memory", {}), proposed)
    facts = _read_facts(given.get("facts", {}))
    rulebook = Rulebook(catalog, rule, policies)
    return lambda: decide(proposed, context, rulebook, rules, memory, facts)


def _policy(name: str, verdict: str, reason: str) -> Callable[[Any], PolicyAnswer]:
    answer = PolicyAnswer(Verdict(verdict), reason)

    def said(_: Any) -> PolicyAnswer:
        return answer

    said.__name__ = name
    return said


def _rules(
    given: Mapping[str, Any], arguments: Mapping[str, Any] | None, context: RunContext, where: Mapping[str, Any]
) -> RulesInForce:
    if not given.get("rules"):
        return NO_RULES
    rules = []
    for one in given["rules"]:
        plain = {name: value for name, value in one.items() if name != "exact"}
        rules.append(StandingRule.from_json({**plain, "arguments": arguments if one["exact"] else None}))
    now = datetime.fromisoformat(given["now"]).astimezone(UTC)
    return RuleView(
        RuleIndex(rules),
        surface=context.surface.name,
        agent_path=tuple(where.get("agent", ())),
        run_id=where["run"],
        now=now,
        caller=context.caller_id,
    )


def _read_memory(plain: Mapping[str, Any], call: ProposedCall) -> RunMemory:
    if call.entry is None or call.arguments is None:
        return RunMemory()
    key = frozenset({call_key(call.entry, call.arguments.values)})
    return RunMemory(
        rejected=key if plain.get("rejected") else frozenset(),
        replaced=key if plain.get("replaced") else frozenset(),
        rejections={call.name: plain["rejections"]} if "rejections" in plain else {},
        auto_approved_turns=plain.get("auto_approved_turns", 0),
    )


def _read_facts(plain: Mapping[str, Any]) -> CallFacts:
    return CallFacts(
        predicate=plain.get("predicate"),
        heuristic=plain.get("heuristic"),
        heuristics_run=plain.get("heuristics_run", False),
        warnings=("a warning",) * plain.get("warnings", 0),
        variant=plain.get("variant", False),
        at_cap=plain.get("at_cap", False),
        stopped=plain.get("stopped", False),
    )
