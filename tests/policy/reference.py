"""A second, slow and naive answer to "may this call run?", read off the tables of the design.

It shares the public data types with the package and not one line of its logic. Each row of the
table is one function that returns the answer of that row, or `None` where the row lets the call go
on. Nothing is looked up in an index, cached or left out because an earlier row makes it needless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from toolgate_langchain import Caller, DataClass, RunConfiguration, Surface, Tier, ToolProfile, TrustZone, Verdict
from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.catalog.remote import Declaration, RemoteServer
from toolgate_langchain.policy.context import CallFacts

__all__ = ["ROWS", "Answer", "Definition", "Question", "answer"]

Answer = tuple[Verdict, str, str]
"""Verdict, code, and the row that gave it."""

ROWS = (
    "switch",
    "identity",
    "gates",
    "argument policies",
    "standing denies",
    "approval rule",
    "standing allows",
    "heuristics",
    "surface",
)


@dataclass(frozen=True)
class Definition:
    """What is true of one tool of the agent."""

    name: str
    profile: ToolProfile
    origin: str = "local"
    server: RemoteServer | None = None
    hints: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    first_registered: str = ""
    """The fingerprint that the tool had when it was first registered."""
    registered_by_hand: bool = True


@dataclass(frozen=True)
class Question:
    """Everything that the answer for one call may depend on."""

    tool: Definition | None
    """`None`: the agent has no tool of the call's name."""
    arguments: dict[str, Any] | None
    """The effective arguments; `None` where the model's do not fit the tool."""
    surface: Surface
    closed: bool = False
    """Whether only tools that were registered by hand count as registered."""
    enabled: frozenset[str] | None = None
    switched_off: frozenset[str] = frozenset()
    groups_off: frozenset[str] = frozenset()
    caller: Caller | None = None
    configurations: tuple[RunConfiguration, ...] = ()
    zones: tuple[TrustZone | None, ...] = ()
    """One per model of the run; `None` for a model of which the operator declared nothing."""
    undeclared_remote: Literal["unclassified", "exempt"] = "unclassified"
    policies: tuple[Callable[[], Any], ...] = ()
    """What each argument policy does when it is asked about this call."""
    rules: tuple[StandingRule, ...] = ()
    now: datetime | None = None
    run_id: str = ""
    agent_path: tuple[str, ...] = ()
    rejected: tuple[dict[str, Any], ...] = ()
    """The arguments of calls of this tool that a person rejected in this run."""
    replaced: tuple[dict[str, Any], ...] = ()
    """The arguments of calls of this tool that a person replaced by an edit in this run."""
    rejections: int = 0
    """How often a person rejected a call of this tool in this run."""
    facts: CallFacts = field(default_factory=CallFacts)


def answer(question: Question) -> Answer:
    """The answer for one call: the first row that has one."""
    for row in (_switch, _identity, _gates, _policies, _denies, _rule, _allows, _heuristics, _surface):
        if (found := row(question)) is not None:
            return found
    raise AssertionError("the last row answers everything")


# --- row 0 and row 1 ------------------------------------------------------------------------------


def _switch(question: Question) -> Answer | None:
    return (Verdict.DENY, "stopped", "switch") if question.facts.stopped else None


def _identity(question: Question) -> Answer | None:
    if question.tool is None:
        return Verdict.DENY, "unknown_tool", "identity"
    if question.arguments is None:
        return Verdict.DENY, "invalid_arguments", "identity"
    return None


# --- row 2 ----------------------------------------------------------------------------------------


def _gates(question: Question) -> Answer | None:
    tool = _tool(question)
    failed = [
        code
        for code, passes in (
            ("not_registered", tool.registered_by_hand or not question.closed),
            ("tool_disabled", _enabled(question, tool)),
            ("requires_admin", not tool.profile.admin_only or _is_admin(question.caller)),
            ("configuration_group", all(_inside(one, tool) for one in question.configurations)),
            ("trust_zone", _below_ceiling(question, tool)),
            ("surface", _of_surface(question.surface, tier_of(tool)) is not Verdict.DENY),
        )
        if not passes
    ]
    return (Verdict.DENY, failed[0], "gates") if failed else None


def _enabled(question: Question, tool: Definition) -> bool:
    if tool.name in question.switched_off:
        return False
    if any(group in question.groups_off for group in tool.profile.groups):
        return False
    return question.enabled is None or tool.name in question.enabled


def _is_admin(caller: Caller | None) -> bool:
    return caller is not None and caller.admin


def _inside(configuration: RunConfiguration, tool: Definition) -> bool:
    if configuration.groups is not None and not any(group in configuration.groups for group in tool.profile.groups):
        return False
    opinions = [skill.tools for skill in configuration.skills if skill.enabled and skill.tools is not None]
    if opinions and not any(tool.name in opinion for opinion in opinions):
        return False
    return configuration.tools is None or tool.name in configuration.tools


_CLASSES = (
    DataClass.PUBLIC,
    DataClass.BUSINESS,
    DataClass.SOURCE_CODE,
    DataClass.INTERNAL_CONFIGURATION,
    DataClass.DIAGNOSTICS,
    DataClass.SECRET,
)
_ALLOWED_CLASSES = {
    TrustZone.LOCAL: _CLASSES,
    TrustZone.PRIVATE_HOSTED: _CLASSES[:5],
    TrustZone.EXTERNAL_SAME_JURISDICTION: _CLASSES[:4],
    TrustZone.EXTERNAL_ANYWHERE: _CLASSES[:2],
}


def _below_ceiling(question: Question, tool: Definition) -> bool:
    if not any(question.zones):
        return True
    data_class = tool.profile.data_class or DataClass.SECRET
    # The worst zone counts: every single one must allow it.
    return all(data_class in _ALLOWED_CLASSES[zone or TrustZone.EXTERNAL_ANYWHERE] for zone in question.zones)


def tier_of(tool: Definition) -> Tier | None:
    """The operator's classification, raised by what a server says of its own tool."""
    own = tool.profile.tier
    if tool.server is None:
        return own
    hinted = _hinted(tool.hints)
    if own is None:
        # Missing is the strictest; only an operator's word lets a server fill it in.
        return hinted if tool.server.trust_hints else None
    order = [Tier.READ_ONLY, Tier.ROUTINE, Tier.CONSEQUENTIAL]
    return own if hinted is None else order[max(order.index(own), order.index(hinted))]


def _hinted(hints: Mapping[str, Any]) -> Tier | None:
    read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if destructive is True:
        return Tier.CONSEQUENTIAL
    if read_only is False:
        return Tier.ROUTINE if destructive is False else Tier.CONSEQUENTIAL
    return Tier.READ_ONLY if read_only is True else None


def _of_surface(surface: Surface, tier: Tier | None) -> Verdict:
    """What a surface says, defaults filled in as the table of defaults has them."""
    if tier is Tier.READ_ONLY:
        return surface.read_only or Verdict.ALLOW
    default = Verdict.ASK if surface.attended else Verdict.DENY
    if tier is Tier.ROUTINE:
        return surface.routine or default
    if tier is Tier.CONSEQUENTIAL:
        return surface.consequential or default
    if surface.unclassified is not None:
        return surface.unclassified
    # May be stricter than the answer for consequential tools, never looser.
    return Verdict.DENY if surface.consequential is Verdict.DENY else default


# --- rows 3 and 4 ---------------------------------------------------------------------------------


def _said_by_policies(question: Question) -> list[Verdict]:
    said: list[Verdict] = []
    for policy in question.policies:
        try:
            verdict = policy().verdict
        except Exception:
            verdict = None
        said.append(verdict if isinstance(verdict, Verdict) else Verdict.DENY)
    return said


def _policies(question: Question) -> Answer | None:
    if Verdict.DENY in _said_by_policies(question):
        return Verdict.DENY, "argument_policy", "argument policies"
    return None


def _must_ask(question: Question) -> bool:
    return Verdict.ASK in _said_by_policies(question)


def _denies(question: Question) -> Answer | None:
    arguments = _arguments(question)
    if any(rule.effect == "deny" and _reaches(rule, question) for rule in question.rules):
        return Verdict.DENY, "standing_deny", "standing denies"
    if any(_same(arguments, rejected) for rejected in question.rejected):
        return Verdict.DENY, "rejected", "standing denies"
    if any(_same(arguments, replaced) for replaced in question.replaced):
        return Verdict.DENY, "replaced", "standing denies"
    if question.rejections >= 3:
        return Verdict.DENY, "rejected_tool", "standing denies"
    return None


def _reaches(rule: StandingRule, question: Question) -> bool:
    """Whether a rule is meant for this call, here and now."""
    tool, now = _tool(question), question.now
    assert now is not None
    return (
        rule.tool_name == tool.name
        and rule.origin == tool.origin
        and (rule.arguments is None or _same(rule.arguments, _arguments(question)))
        and rule.surface == question.surface.name
        and rule.agent_path == question.agent_path
        and (rule.scope == "thread" or rule.run_id == question.run_id)
        and (rule.expires_at is None or now < rule.expires_at)
    )


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same value: the order of keys is nothing, the kind of a number all."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return set(one) == set(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return repr(one) == repr(other)


# --- row 5 ----------------------------------------------------------------------------------------


def _rule(question: Question) -> Answer | None:
    if _needs_person(question) or _must_ask(question):
        return None
    return Verdict.ALLOW, "not_required", "approval rule"


def _needs_person(question: Question) -> bool:
    tool = _tool(question)
    if tool.profile.requires_approval:
        return True
    if tool.profile.input_schema is not None:
        return True
    if tool.profile.approval_when is not None and _predicate(question) is not False:
        return True
    if tool.server is not None:
        declared = _declared(tool)
        if declared is not None:
            return declared
        if question.undeclared_remote == "exempt" and _record(tool.server, tool.name) is None:
            return False
        return _of_surface(question.surface, None) is not Verdict.ALLOW
    return _of_surface(question.surface, tier_of(tool)) is not Verdict.ALLOW


def _predicate(question: Question) -> Any:
    """Exactly what the per-call predicate said; whatever is not `False` asks for a person."""
    if question.facts.predicate is not None:
        return question.facts.predicate
    predicate = _tool(question).profile.approval_when
    assert predicate is not None
    try:
        return predicate(_arguments(question))
    except Exception:
        return "raised"


def _declared(tool: Definition) -> bool | None:
    """The operator's word about a remote tool, as long as it is about the tool as it is now."""
    assert tool.server is not None
    record = _record(tool.server, tool.name)
    if record is None:
        return None
    needed = record if isinstance(record, bool) else record.requires_approval
    # A restriction stays whatever becomes of the tool.
    known = as_looked_at(tool.server, tool.name, tool.fingerprint, tool.first_registered)
    return needed if needed or known else None


def as_looked_at(server: RemoteServer, name: str, fingerprint: str, first_registered: str) -> bool:
    """Whether a remote tool is what the operator looked at: the definition that a declaration names, or the first."""
    record = _record(server, name)
    made_for = None if record is None or isinstance(record, bool) else record.fingerprint
    return fingerprint == (first_registered if made_for is None else made_for)


def _record(server: RemoteServer, name: str) -> Declaration | bool | None:
    records = server.declarations or {}
    return records[name] if name in records else records.get("*")


# --- rows 6 to 8 ----------------------------------------------------------------------------------


def _only_a_person(question: Question) -> bool:
    """Whether no rule and no heuristic may stand in for a person."""
    facts = question.facts
    return bool(
        _must_ask(question)
        or facts.warnings
        or facts.variant
        or facts.at_cap
        or _tool(question).profile.input_schema is not None
    )


def _allows(question: Question) -> Answer | None:
    if _only_a_person(question):
        return None
    tool = _tool(question)
    for rule in question.rules:
        alive = rule.fingerprint == tool.fingerprint and rule.tier == tier_of(tool)
        if rule.effect == "allow" and alive and _reaches(rule, question):
            return Verdict.ALLOW, "standing_rule", "standing allows"
    return None


def _heuristics(question: Question) -> Answer | None:
    if question.facts.heuristic is None or _only_a_person(question):
        return None
    return Verdict.ALLOW, f"heuristic:{question.facts.heuristic}", "heuristics"


def _surface(question: Question) -> Answer | None:
    if not question.surface.attended:
        return Verdict.DENY, "unattended", "surface"
    code = "approval_required" if _tool(question).profile.input_schema is None else "input_required"
    return Verdict.ASK, code, "surface"


def _tool(question: Question) -> Definition:
    assert question.tool is not None
    return question.tool


def _arguments(question: Question) -> dict[str, Any]:
    assert question.arguments is not None
    return question.arguments
