"""What is said of every call of a tool in advance: never more than is true of each one, and never out of date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from langchain_core.tools import BaseTool, tool

from tests.policy import reference
from tests.policy.cases import ARGUMENTS, Case, cases, policy_allows, says_false
from tests.support import with_profile
from toolgate_langchain import (
    ApprovalRule,
    Caller,
    DataClass,
    RemoteServer,
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolProfile,
    TrustZone,
)
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.hosts.engine.foregone import Foregone
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RunContext, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, decide
from toolgate_langchain.policy.decision import Decision
from toolgate_langchain.vocabulary import Verdict

_quick = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])

READ = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"mail"}), data_class=DataClass.PUBLIC)
_FITTING = [values for _, values in ARGUMENTS if values is not None]


# --- against the naive second evaluator --------------------------------------------------------------

_seen: Counter[str] = Counter()


@settings(_quick, max_examples=800)
@given(cases)
def _every_call(case: Case) -> None:
    world = case.world()
    assume(world.entry is not None)
    assert world.entry is not None
    foregone = Foregone(world.rulebook)
    question = replace(world.question, facts=replace(case.facts, predicate=None, stopped=False))
    quiet = replace(question, rules=(), rejected=(), replaced=(), rejections=0, facts=CallFacts())
    answers = {reference.answer(replace(quiet, arguments=values)) for values in _FITTING}
    released, unasked = foregone.released(world.entry, world.context), foregone.unasked(world.entry, world.context)
    if released is not None:
        assert answers == {(Verdict.ALLOW, "not_required", "approval rule")}
        assert unasked
        _seen["released"] += 1
    if unasked:
        said = [reference.answer(replace(question, arguments=values)) for values in _FITTING]
        assert not [one for one in said if one[0] is Verdict.ASK or one[1] in ("unattended", "standing_rule")]
        _seen["unasked"] += 1
    if released is None and not case.policies and case.profile.approval_when is None:
        # Where nothing has to be looked at, nothing is said only because some call would not run.
        assert answers != {(Verdict.ALLOW, "not_required", "approval rule")}
        _seen["looked at"] += 1


def test_a_release_is_foregone_only_where_the_naive_evaluator_lets_every_call_run_unasked() -> None:
    """While nothing was said; and what is foregone to need nobody is never asked about, whatever was said."""
    _seen.clear()
    _every_call()
    assert min(_seen["released"], _seen["unasked"] - _seen["released"], _seen["looked at"]) > 20


@settings(_quick, max_examples=200)
@given(cases)
def test_the_decision_that_is_foregone_is_the_one_that_each_call_gets(case: Case) -> None:
    world = case.world()
    released = None if world.entry is None else Foregone(world.rulebook).released(world.entry, world.context)
    for written, values in ARGUMENTS:
        if released is not None and values is not None:
            call = ProposedCall.of("act", written, world.entry)
            assert decide(call, world.context, world.rulebook, NO_RULES, RunMemory(), CallFacts()) == released


# --- one thing that has to be looked at ----------------------------------------------------------------


@tool
def look(n: int = 0) -> str:
    """Look."""
    return "looked"


@tool
def aim(n: int = 0, where: str = "") -> str:
    """Aim."""
    return "aimed"


def about(
    profile: ToolProfile = READ, context: RunContext | None = None, **rulebook: Any
) -> tuple[bool, Decision | None]:
    """What is foregone of a read-only tool, with one thing changed."""
    catalog = ToolCatalog.from_tools([look], profiles={"look": profile})
    book = Rulebook(catalog, rulebook.pop("rule", ApprovalRule()), **rulebook)
    entry = catalog.get("look")
    assert entry is not None
    context = context or RunContext(Surface("chat"))
    foregone = Foregone(book)
    return foregone.unasked(entry, context), foregone.released(entry, context)


def test_a_read_only_tool_runs_unasked_whatever_its_arguments() -> None:
    """The control of what follows."""
    unasked, released = about()
    assert unasked
    assert released is not None
    assert (released.verdict, released.code) == (Verdict.ALLOW, "not_required")


@pytest.mark.parametrize(
    "changed",
    [
        {"profile": replace(READ, tier=Tier.ROUTINE)},
        {"profile": replace(READ, tier=None)},
        {"profile": replace(READ, requires_approval=True)},
        {"profile": replace(READ, approval_when=says_false)},
        {"profile": replace(READ, input_schema={"type": "object", "properties": {"note": {}}})},
        {"rule": ApprovalRule(asks={"look": ("approve",)})},
        {"argument_policies": (lambda _: policy_allows(),)},
        {"context": RunContext(Surface("chat", read_only=Verdict.ASK))},
    ],
    ids=["tier", "no tier", "marker", "predicate", "typed input", "operator", "argument policy", "surface"],
)
def test_a_call_that_could_need_a_person_is_looked_at(changed: dict[str, Any]) -> None:
    assert about(**changed) == (False, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"profile": replace(READ, admin_only=True)},
        {"context": RunContext(Surface("chat"), configurations=(RunConfiguration(tools=()),))},
        {
            "context": RunContext(Surface("chat"), zone=TrustZone.EXTERNAL_ANYWHERE),
            "profile": replace(READ, data_class=None),
        },
    ],
    ids=["administrators", "configuration", "zone"],
)
def test_a_call_that_a_gate_refuses_is_not_released_and_nobody_is_asked(changed: dict[str, Any]) -> None:
    assert about(**changed) == (True, None)


# --- never out of date ----------------------------------------------------------------------------------

CONTEXTS: tuple[Callable[[], RunContext], ...] = (
    lambda: RunContext(Surface("chat")),
    lambda: RunContext(Surface("chat", read_only=Verdict.ASK)),
    lambda: RunContext(Surface("chat", attended=False)),
    lambda: RunContext(Surface("chat", routine=Verdict.ALLOW)),
    lambda: RunContext(Surface("chat", read_only=Verdict.DENY)),
    lambda: RunContext(Surface("chat"), Caller("ann")),
    lambda: RunContext(Surface("chat"), Caller("ann", admin=True)),
    lambda: RunContext(Surface("chat"), configurations=(RunConfiguration(tools=("mine",)),)),
    lambda: RunContext(Surface("chat"), configurations=(RunConfiguration(groups=frozenset({"mail"})),)),
    lambda: RunContext(Surface("chat"), zone=TrustZone.EXTERNAL_ANYWHERE),
)
"""Contexts of surfaces with one name, made anew each time: equal ones are not the same object."""

SERVER = RemoteServer("srv", ("run",), {"listed": False}, profiles={"listed": READ})


def named(name: str, text: str = "A tool.", profile: ToolProfile | None = None, **metadata: Any) -> BaseTool:
    made = look.model_copy(update={"name": name, "description": text, "metadata": metadata})
    return made if profile is None else with_profile(made, profile)


class World:
    """A catalog that is changed while an agent runs, with what its agent really has."""

    def __init__(self) -> None:
        self.catalog = ToolCatalog()
        self.tools = {
            "mine": named("mine"),
            "secret": named("secret"),
            "listed": named("listed"),
            "met": named("met", profile=READ),
        }
        self.catalog.register(self.tools["mine"], READ)
        self.catalog.register(
            self.tools["secret"], replace(READ, admin_only=True, groups=frozenset({"ops"}), data_class=None)
        )
        self.catalog.add_remote(SERVER, [self.tools["listed"]])
        self.rulebook = Rulebook(self.catalog, ApprovalRule())

    def entry(self, name: str) -> CatalogEntry:
        return self.catalog.meet(self.tools[name])

    def lists(self, *tools: BaseTool, server: RemoteServer = SERVER) -> None:
        self.catalog.add_remote(server, list(tools))

    def has(self, name: str, made: BaseTool) -> None:
        self.tools[name] = made

    def register(self, name: str) -> None:
        if self.catalog.get(name) is None:
            self.catalog.register(named(name), ToolProfile(tier=Tier.CONSEQUENTIAL))


CHANGES: dict[str, Callable[[World], None]] = {
    "a tool is switched off": lambda world: world.catalog.switch_tool("mine", on=False),
    "a tool is switched on": lambda world: world.catalog.switch_tool("mine", on=True),
    "a group is switched off": lambda world: world.catalog.switch_group("mail", on=False),
    "a group is switched on": lambda world: world.catalog.switch_group("mail", on=True),
    "the catalog is closed": lambda world: setattr(world.catalog, "closed", True),
    "the catalog is opened": lambda world: setattr(world.catalog, "closed", False),
    "the server lists the same": lambda world: world.lists(world.tools["listed"]),
    "the server lists another definition": lambda world: world.lists(named("listed", "Now it does more.")),
    "the server raises the tier": lambda world: world.lists(named("listed", destructiveHint=True)),
    "the server lists nothing": lambda world: world.lists(),
    "the server's record asks": lambda world: world.lists(
        world.tools["listed"], server=replace(SERVER, declarations={"listed": True})
    ),
    "the server lists a name that is taken": lambda world: world.lists(world.tools["listed"], named("mine")),
    "the agent has the server's new tool": lambda world: world.has("listed", named("listed", "Now it does more.")),
    "the agent has another tool of the name": lambda world: world.has("mine", aim.model_copy(update={"name": "mine"})),
    "a tool that was met is registered as consequential": lambda world: world.register("met"),
    "the agent's tool carries another profile": lambda world: world.has(
        "met", named("met", profile=ToolProfile(tier=Tier.ROUTINE))
    ),
}


def check(world: World, foregone: Foregone, context: RunContext, name: str) -> Decision | None:
    """What is remembered is what is worked out anew, by the rows of the decision."""
    entry, anew = world.entry(name), Foregone(world.rulebook)
    released = foregone.released(entry, context)
    assert released == anew.released(entry, context)
    assert foregone.unasked(entry, context) == anew.unasked(entry, context)
    proposed = ProposedCall.of(name, {"n": 1}, entry)
    decided = decide(proposed, context, world.rulebook, NO_RULES, RunMemory(), CallFacts())
    assert (released is not None) == (decided.verdict is Verdict.ALLOW)
    return released


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_foregone_before_a_change_is_not_afterwards(change: str) -> None:
    world = World()
    foregone = Foregone(world.rulebook)
    for make in CONTEXTS:
        for name in world.tools:
            check(world, foregone, make(), name)
    CHANGES[change](world)
    for make in CONTEXTS:
        for name in world.tools:
            check(world, foregone, make(), name)


@settings(_quick, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(CHANGES)),
            st.sampled_from(["mine", "secret", "listed", "met"]),
            st.lists(st.sampled_from(range(len(CONTEXTS))), min_size=1, max_size=4),
        ),
        max_size=8,
    )
)
@example([("a tool is switched off", "mine", [0, 0]), ("a tool is switched on", "mine", [0, 5, 0])])
def test_no_order_of_changes_and_contexts_leaves_anything_stale(steps: list[tuple[str, str, list[int]]]) -> None:
    world = World()
    foregone = Foregone(world.rulebook)
    for change, name, contexts in steps:
        for number in contexts:
            check(world, foregone, CONTEXTS[number](), name)
        CHANGES[change](world)
        for number in contexts:
            check(world, foregone, CONTEXTS[number](), name)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("a tool is switched off", "mine"),
        ("a group is switched off", "mine"),
        ("the catalog is closed", "met"),
        ("the server lists another definition", "listed"),
        ("the server raises the tier", "listed"),
        ("the server lists nothing", "listed"),
        ("the server's record asks", "listed"),
        ("the agent has another tool of the name", "mine"),
        ("a tool that was met is registered as consequential", "met"),
        ("the agent's tool carries another profile", "met"),
    ],
)
def test_a_change_that_restricts_takes_the_release_back_at_once(change: str, name: str) -> None:
    world, context = World(), RunContext(Surface("chat"))
    foregone = Foregone(world.rulebook)
    assert check(world, foregone, context, name) is not None
    CHANGES[change](world)
    assert check(world, foregone, context, name) is None


def test_another_context_of_the_same_surface_name_is_another_one() -> None:
    world = World()
    foregone = Foregone(world.rulebook)
    answers = [check(world, foregone, make(), "secret") is not None for make in CONTEXTS]
    assert answers == [number == 6 for number in range(len(CONTEXTS))]
    assert [check(world, foregone, make(), "secret") is not None for make in CONTEXTS] == answers


def test_what_is_foregone_is_worked_out_once() -> None:
    """The same decision again, also for a context that is equal and not the same."""
    world = World()
    foregone = Foregone(world.rulebook)
    first = foregone.released(world.entry("mine"), CONTEXTS[0]())
    assert first is not None
    assert foregone.released(world.entry("mine"), CONTEXTS[0]()) is first
    world.catalog.switch_group("other", on=False)
    assert foregone.released(world.entry("mine"), CONTEXTS[0]()) is not first
