"""Generated cases for the decision: one drawn value, told twice, to the package and to the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from hypothesis import strategies as st
from langchain_core.tools import BaseTool, tool

from tests.policy.reference import Definition, Question, as_looked_at
from toolgate_langchain import Caller, DataClass, RunConfiguration, Surface, Tier, ToolCatalog, ToolProfile, TrustZone
from toolgate_langchain.approvals.rules import RuleIndex, RuleView, StandingRule
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.remote import Declaration, RemoteServer
from toolgate_langchain.policy.approval_rule import ApprovalRule
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.policy.caller import Skill
from toolgate_langchain.policy.context import CallFacts, RulesInForce, RunContext, RunMemory, worst_zone
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, call_key
from toolgate_langchain.vocabulary import Verdict

__all__ = ["NOW", "Case", "Decided", "cases", "draw"]

T = TypeVar("T")

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@tool
def act(n: int, note: str = "-") -> str:
    """Act."""
    return f"acted {n} {note}"


@tool
def other() -> str:
    """Do something else."""
    return "done"


# What the model writes, and what the tool makes of it; `None` where it does not fit.
ARGUMENTS: tuple[tuple[dict[str, Any], dict[str, Any] | None], ...] = (
    ({"n": 5}, {"n": 5, "note": "-"}),
    ({"n": "5"}, {"n": 5, "note": "-"}),
    ({"note": "-", "n": 5}, {"n": 5, "note": "-"}),
    ({"n": 5, "note": "a"}, {"n": 5, "note": "a"}),
    ({"n": 6}, {"n": 6, "note": "-"}),
    ({"n": "five"}, None),
    ({}, None),
    ({"n": 2**63}, None),
)
REMEMBERED: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"n": 5, "note": "-"},
    {"note": "-", "n": 5},
    {"n": 5.0, "note": "-"},
    {"n": "5", "note": "-"},
    {"n": 5},
    {"n": 6, "note": "-"},
)


def says_true(_: Mapping[str, Any]) -> bool:
    return True


def says_false(_: Mapping[str, Any]) -> bool:
    return False


def says_one(_: Mapping[str, Any]) -> bool:
    return 1  # type: ignore[return-value]


def says_none(_: Mapping[str, Any]) -> bool:
    return None  # type: ignore[return-value]


def says_text(_: Mapping[str, Any]) -> bool:
    return "false"  # type: ignore[return-value]


def raises(_: Mapping[str, Any]) -> bool:
    raise RuntimeError("predicate")


def if_noted(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["note"] != "-")


def policy_allows() -> PolicyAnswer:
    return PolicyAnswer(Verdict.ALLOW)


def policy_asks() -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK, "look at it")


def policy_denies() -> PolicyAnswer:
    return PolicyAnswer(Verdict.DENY, "no")


def policy_raises() -> PolicyAnswer:
    raise RuntimeError("policy")


def policy_says_nothing() -> PolicyAnswer:
    return None  # type: ignore[return-value]


def policy_says_text() -> PolicyAnswer:
    return PolicyAnswer("allow")  # type: ignore[arg-type]


def _as_policy(said: Callable[[], PolicyAnswer]) -> Callable[[ArgumentView], PolicyAnswer]:
    return lambda _: said()


class DrawnRule(NamedTuple):
    effect: Literal["allow", "deny"]
    arguments: dict[str, Any] | None
    tool_name: str
    origin: str
    same_definition: bool
    same_tier: bool
    surface: str
    agent_path: tuple[str, ...]
    scope_of: tuple[Literal["run", "thread"], str | None]
    lasts: int | None


@dataclass(frozen=True)
class Case:
    """One drawn case. The further names are what the package needs to decide it."""

    profile: ToolProfile
    kind: Literal["local", "first sight", "remote", "unknown"]
    hints: Mapping[str, Any]
    declarations: Mapping[str, Declaration | bool] | None
    trust_hints: bool
    changed: bool
    arguments: int
    surface: Surface
    closed: bool
    enabled: frozenset[str] | None
    switched_off: bool
    groups_off: frozenset[str]
    caller: Caller | None
    configurations: tuple[RunConfiguration, ...]
    zones: tuple[TrustZone | None, ...]
    undeclared_remote: Literal["unclassified", "exempt"]
    policies: tuple[Callable[[], PolicyAnswer], ...]
    rules: tuple[DrawnRule, ...]
    rejected: tuple[int, ...]
    replaced: tuple[int, ...]
    rejections: int
    facts: CallFacts

    def world(self) -> Decided:
        """Build the catalog, the context and everything else that the package decides with."""
        catalog = ToolCatalog(closed=self.closed, enabled=self.enabled, disabled_groups=self.groups_off)
        catalog.register(other)
        server: RemoteServer | None = None
        entry: CatalogEntry | None = None
        first_registered = ""
        if self.kind == "remote":
            profiles = {"act": self.profile}
            server = RemoteServer("srv", ("run",), self.declarations, profiles=profiles, trust_hints=self.trust_hints)
            sent = act.model_copy(update={"metadata": dict(self.hints)})
            catalog.add_remote(server, [sent])
            entry = catalog.get("act")
            assert entry is not None
            first_registered = entry.fingerprint
            if self.changed:
                catalog.add_remote(server, [sent.model_copy(update={"description": "Now it does more."})])
                entry = catalog.get("act")
        elif self.kind == "local":
            catalog.register(act, self.profile)
            entry = catalog.get("act")
        elif self.kind == "first sight":
            entry = catalog.meet(_carrying(self.profile))
        if self.switched_off and self.kind in ("local", "remote"):
            catalog.switch_tool("act", on=False)
        return Decided(self, catalog, entry, server, first_registered)


def _carrying(profile: ToolProfile) -> BaseTool:
    return act.model_copy(update={"metadata": {"toolgate": profile}})


class Decided:
    """A case with the objects that the package decides it with."""

    def __init__(
        self,
        case: Case,
        catalog: ToolCatalog,
        entry: CatalogEntry | None,
        server: RemoteServer | None,
        first_registered: str,
    ) -> None:
        self.case, self.entry = case, entry
        self.context = RunContext(case.surface, case.caller, case.configurations, worst_zone(case.zones))
        self.rulebook = Rulebook(
            catalog, ApprovalRule(case.undeclared_remote), tuple(_as_policy(said) for said in case.policies)
        )
        definition = None
        if entry is not None:
            known = server is None or as_looked_at(server, "act", entry.fingerprint, first_registered)
            definition = Definition(
                name="act",
                profile=case.profile if known else case.profile.without_tier(),
                origin="local" if server is None else "server:srv",
                server=server,
                hints=case.hints if server is not None else {},
                fingerprint=entry.fingerprint,
                first_registered=first_registered,
                registered_by_hand=case.kind != "first sight",
            )
        rules = tuple(self._rule(drawn) for drawn in case.rules)
        self.rules = rules
        self.question = Question(
            tool=definition,
            arguments=ARGUMENTS[case.arguments][1],
            surface=case.surface,
            closed=case.closed,
            enabled=case.enabled,
            switched_off=frozenset({"act"}) if case.switched_off and case.kind != "first sight" else frozenset(),
            groups_off=case.groups_off,
            caller=case.caller,
            configurations=case.configurations,
            zones=case.zones,
            undeclared_remote=case.undeclared_remote,
            policies=case.policies,
            rules=rules,
            now=NOW,
            run_id="run",
            agent_path=(),
            rejected=self._remembered(case.rejected),
            replaced=self._remembered(case.replaced),
            rejections=case.rejections,
            facts=case.facts,
        )

    @staticmethod
    def _remembered(picked: Iterable[int]) -> tuple[dict[str, Any], ...]:
        return tuple(values for values in (ARGUMENTS[one][1] for one in picked) if values is not None)

    def _rule(self, drawn: DrawnRule) -> StandingRule:
        tier = None if self.entry is None else self.entry.tier
        return StandingRule(
            tool_name=drawn.tool_name,
            arguments=drawn.arguments,
            effect=drawn.effect,
            scope=drawn.scope_of[0],
            origin=drawn.origin,
            fingerprint=self.entry.fingerprint if self.entry is not None and drawn.same_definition else "another",
            tier=tier if drawn.same_tier else (Tier.ROUTINE if tier is Tier.READ_ONLY else Tier.READ_ONLY),
            surface=drawn.surface,
            agent_path=drawn.agent_path,
            run_id=drawn.scope_of[1],
            created_at=NOW - timedelta(hours=1),
            expires_at=None if drawn.lasts is None else NOW + timedelta(seconds=drawn.lasts),
        )

    def asked(self) -> tuple[ProposedCall, RunContext, Rulebook, RulesInForce, RunMemory, CallFacts]:
        """What `decide` and `explain` take."""
        view = RuleView(RuleIndex(self.rules), surface=self.case.surface.name, agent_path=(), run_id="run", now=NOW)
        memory = RunMemory()
        if self.entry is not None:
            entry = self.entry
            memory = RunMemory(
                rejected=frozenset(call_key(entry, one) for one in self.question.rejected),
                replaced=frozenset(call_key(entry, one) for one in self.question.replaced),
                rejections={"act": self.case.rejections, "other": 7},
            )
        arguments = dict(ARGUMENTS[self.case.arguments][0])
        name = "act" if self.entry is not None else "Act"
        return (
            ProposedCall.of(name, arguments, self.entry),
            self.context,
            self.rulebook,
            view,
            memory,
            self.case.facts,
        )


# --- drawing --------------------------------------------------------------------------------------


class Source(Protocol):
    """Where chance comes from: the module `random`, which each run of the tests sets anew, or a `Random`."""

    def randrange(self, stop: int, /) -> int: ...


class _Each(Generic[T]):
    """One of every list of choices, and something made of them, told by one number.

    One number stands for all the choices, because forty draws a case would take most of the time.
    Its range stays below 24 bits, where Hypothesis draws evenly.
    """

    def __init__(self, make: Callable[..., T], /, **choices: Sequence[Any]) -> None:
        self._make, self._choices = make, choices
        self._total = math.prod(len(listed) for listed in choices.values())
        assert self._total < 2**24

    @property
    def numbers(self) -> st.SearchStrategy[int]:
        return st.integers(0, self._total - 1)

    def draw(self, source: Source) -> int:
        """One of these numbers."""
        return source.randrange(self._total)

    def __call__(self, number: int) -> T:
        picked = {}
        for name, listed in self._choices.items():
            number, position = divmod(number, len(listed))
            picked[name] = listed[position]
        return self._make(**picked)


def _perhaps(make: Callable[..., T]) -> Callable[..., T | None]:
    """What is made only in some of the cases; fewer draws than a list takes."""
    return lambda *, there, **picked: make(**picked) if there else None


def _mostly(usual: Any, *rare: Any, times: int) -> list[Any]:
    return [usual] * times + list(rare)


def _surface(
    attended: bool,
    name: str,
    read_only: Verdict | None,
    routine: Verdict | None,
    consequential: Verdict | None,
    unclassified: Verdict | None,
) -> Surface:
    if not attended:  # nobody is there to be asked
        read_only, routine, consequential, unclassified = (
            Verdict.ALLOW if said is Verdict.ASK else said for said in (read_only, routine, consequential, unclassified)
        )
    if unclassified is not None:
        unclassified = max(unclassified, consequential or (Verdict.ASK if attended else Verdict.DENY))
    return Surface(name, attended, read_only, routine, consequential, unclassified)


_SAID = [Verdict.ALLOW, Verdict.ASK, Verdict.DENY, None, None]
_SURFACES = _Each(
    _surface,
    attended=[True, True, False],
    name=["chat", "chat", "cli"],
    read_only=_SAID,
    routine=_SAID,
    consequential=_SAID,
    unclassified=_SAID,
)

_FORM = {"type": "object", "properties": {"note": {"type": "string"}}}
_PROFILES = _Each(
    ToolProfile,
    tier=[Tier.ROUTINE, *Tier, None],
    groups=[frozenset({"mail"}), frozenset(), frozenset({"mail", "code"})],
    admin_only=_mostly(False, True, times=7),
    requires_approval=_mostly(False, True, times=5),
    approval_when=_mostly(None, says_true, says_false, says_one, says_none, says_text, raises, if_noted, times=7),
    input_schema=_mostly(None, _FORM, times=9),
    data_class=[DataClass.PUBLIC, *DataClass, None],
)

_CONFIGURATIONS = _Each(
    _perhaps(RunConfiguration),
    there=[False, False, True],
    groups=_mostly(None, frozenset(), frozenset({"mail"}), frozenset({"code"}), frozenset({"code", "mail"}), times=4),
    skills=_mostly(
        (),
        (Skill("silent"),),
        (Skill("silent"), Skill("acts", ("act",))),
        (Skill("acts", ("act", "other")), Skill("other", ("other",))),
        (Skill("off", ("other",), enabled=False),),
        (Skill("off", ("act",), enabled=False), Skill("other", ("other",))),
        (Skill("nothing", ()),),
        times=4,
    ),
    tools=_mostly(None, (), ("act",), ("other", "act"), ("other",), times=5),
)

_RULES = _Each(
    _perhaps(DrawnRule),
    there=[False, True],
    effect=["allow", "allow", "deny"],
    arguments=REMEMBERED,
    tool_name=_mostly("act", "Act", "act ", times=6),
    origin=["local", "local", "server:srv", "server:srv", "server:other"],
    same_definition=_mostly(True, False, times=3),
    same_tier=_mostly(True, False, times=3),
    surface=["chat", "chat", "cli"],
    agent_path=_mostly((), ("sub",), times=4),
    scope_of=[("thread", None), ("thread", "another"), ("run", "run"), ("run", "run"), ("run", "another")],
    lasts=[None, None, -5, 0, 5],
)


def _without_equals(rules: list[DrawnRule]) -> tuple[DrawnRule, ...]:
    """Leave one of rules that differ in their end alone: the same rule made again replaces the first."""
    return tuple({_without_end(rule): rule for rule in rules}.values())


def _without_end(rule: DrawnRule) -> str:
    arguments = None if rule.arguments is None else sorted(rule.arguments.items())
    return repr(rule._replace(arguments=None, lasts=None)) + repr(arguments)


_FACTS = _Each(
    CallFacts,
    predicate=_mostly(None, True, False, times=6),
    heuristic=[None, "safe_paths"],
    heuristics_run=[True],
    warnings=_mostly((), ("hidden characters",), times=8),
    variant=_mostly(False, True, times=8),
    at_cap=_mostly(False, True, times=8),
    stopped=_mostly(False, True, times=24),
)


@dataclass(frozen=True)
class _Remote:
    hints: Mapping[str, Any]
    declarations: Mapping[str, Declaration | bool] | None
    trust_hints: bool
    changed: bool
    undeclared_remote: Literal["unclassified", "exempt"]


_REMOTES = _Each(
    _Remote,
    hints=[
        {},
        *(
            {"readOnlyHint": read_only, "destructiveHint": destructive}
            for read_only in (True, False, None, "true", 1)
            for destructive in (True, False, None, "true", 0)
        ),
    ],
    declarations=[
        None,
        {},
        {"act": True},
        {"act": False},
        {"act": False},
        {"act": False, "*": True},
        {"*": False},
        {"Act": False},
        {"act": Declaration(requires_approval=False)},
        {"act": Declaration(requires_approval=False, fingerprint="another"), "*": False},
    ],
    trust_hints=[False, True],
    changed=_mostly(False, True, times=3),
    undeclared_remote=["unclassified", "exempt"],
)


@dataclass(frozen=True)
class _Rest:
    kind: Literal["local", "first sight", "remote", "unknown"]
    arguments: int
    closed: bool
    enabled: frozenset[str] | None
    switched_off: bool
    groups_off: frozenset[str]
    caller: Caller | None


_RESTS = _Each(
    _Rest,
    kind=["local"] * 5 + ["remote"] * 6 + ["first sight"] * 2 + ["unknown"],
    arguments=[*range(5), *range(5), *range(len(ARGUMENTS))],
    closed=[False, True],
    enabled=_mostly(None, frozenset({"act"}), frozenset({"other"}), frozenset(), times=8),
    switched_off=_mostly(False, True, times=14),
    groups_off=_mostly(frozenset(), frozenset({"mail"}), frozenset({"code"}), frozenset({"later"}), times=9),
    caller=[None, Caller("ann"), Caller("root", admin=True)],
)


@dataclass(frozen=True)
class _Remembered:
    policies: tuple[Callable[[], PolicyAnswer], ...]
    rejected: tuple[int, ...]
    replaced: tuple[int, ...]
    rejections: int
    zones: tuple[TrustZone | None, ...]


_REMEMBERED = _Each(
    _Remembered,
    policies=_mostly(
        (),
        (policy_allows,),
        (policy_asks,),
        (policy_asks, policy_allows),
        (policy_asks, policy_denies),
        (policy_allows, policy_raises),
        (policy_says_nothing,),
        (policy_says_text,),
        times=12,
    ),
    rejected=_mostly((), (0,), (3,), (4,), times=6),
    replaced=_mostly((), (0,), (4,), times=6),
    rejections=[0, 0, 0, 0, 0, 1, 2, 3, 4],
    zones=_mostly((), *((zone,) for zone in TrustZone), (None,), (TrustZone.LOCAL, None), (None, TrustZone.LOCAL),
                  (TrustZone.LOCAL, TrustZone.EXTERNAL_SAME_JURISDICTION), times=6),
)  # fmt: skip


_PARTS: tuple[_Each[Any], ...] = (
    _PROFILES,
    _REMOTES,
    _SURFACES,
    _RESTS,
    _REMEMBERED,
    _FACTS,
    *[_CONFIGURATIONS] * 2,
    *[_RULES] * 3,
)


def _case(numbers: tuple[int, ...]) -> Case:
    profile, remote, surface, rest, remembered, facts, *lists = (
        part(number) for part, number in zip(_PARTS, numbers, strict=True)
    )
    return Case(
        profile=profile,
        surface=surface,
        configurations=tuple(one for one in lists[:2] if one is not None),
        rules=_without_equals([one for one in lists[2:] if one is not None]),
        facts=facts,
        **vars(remote),
        **vars(rest),
        **vars(remembered),
    )


cases: st.SearchStrategy[Case] = st.tuples(*(part.numbers for part in _PARTS)).map(_case)
"""Cases of every kind. Mild values come several times, or hardly any case would reach the later rows."""


def draw(source: Source) -> Case:
    """One case, for tests of so many that Hypothesis would take long."""
    return _case(tuple(part.draw(source) for part in _PARTS))
