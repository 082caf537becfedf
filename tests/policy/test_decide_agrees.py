"""The decision against a second evaluator, written from the tables of the design, and its properties."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.policy import reference
from tests.policy.cases import Case, DrawnRule, cases, draw, policy_asks, policy_denies
from toolgate_langchain import Surface, Tier
from toolgate_langchain.policy.decide import decide, explain
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.vocabulary import Verdict

_quick = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


def _decided(case: Case) -> Decision:
    return decide(*case.world().asked())


# --- agreement ------------------------------------------------------------------------------------

_ALL_CODES = {
    Code.STOPPED,
    Code.UNKNOWN_TOOL,
    Code.INVALID_ARGUMENTS,
    Code.NOT_REGISTERED,
    Code.TOOL_DISABLED,
    Code.REQUIRES_ADMIN,
    Code.CONFIGURATION_GROUP,
    Code.TRUST_ZONE,
    Code.SURFACE,
    Code.ARGUMENT_POLICY,
    Code.STANDING_DENY,
    Code.REJECTED,
    Code.REPLACED,
    Code.REJECTED_TOOL,
    Code.NOT_REQUIRED,
    Code.STANDING_RULE,
    "heuristic:safe_paths",
    Code.APPROVAL_REQUIRED,
    Code.INPUT_REQUIRED,
    Code.UNATTENDED,
}

_seen: Counter[str] = Counter()


def _agree(case: Case) -> None:
    world = case.world()
    asked = world.asked()
    decision, explained = decide(*asked), explain(*asked)
    assert (decision.verdict, decision.code, decision.layer.value) == reference.answer(world.question)
    assert replace(explained, trace=()) == replace(decision, trace=())
    assert [row.layer for row in explained.trace] == list(Layer)
    assert [row.layer for row in explained.trace if row.decided] == [decision.layer]
    _seen[decision.code] += 1


def _agree_on(number_of_cases: int) -> None:
    """Drawn evenly and each on its own: Hypothesis takes as long to think of a case as the case takes to decide."""
    for _ in range(number_of_cases):
        case = draw(random)
        try:
            _agree(case)
        except Exception as error:
            error.add_note(f"the case: {case}")
            raise


def test_a_naive_second_evaluator_agrees_on_verdict_code_and_layer_and_explain_agrees_with_decide() -> None:
    """On 10,000 generated cases, among which every code of the decision occurs; `explain` shows all nine rows."""
    _seen.clear()
    _agree_on(10_000)
    assert _seen.total() == 10_000
    if len(_seen) < len(_ALL_CODES):
        _agree_on(10_000)  # the rarest codes come a few times in 10,000 draws, and now and then not at all
    assert set(_seen) == _ALL_CODES


@settings(_quick, max_examples=250)
@given(cases)
def test_they_agree_where_a_case_that_they_differ_on_is_made_as_small_as_it_can_be(case: Case) -> None:
    _agree(case)


def test_the_rows_of_the_reference_are_the_layers_of_the_package() -> None:
    assert [layer.value for layer in Layer] == list(reference.ROWS)


# --- whatever is added, nothing becomes milder ----------------------------------------------------

_NEVER = DrawnRule("deny", None, "act", "local", True, True, "chat", (), ("thread", None), None)
"""Somebody said "never" about the tool; the properties below put the case's own place in."""


def _never(case: Case, rule: DrawnRule = _NEVER) -> DrawnRule:
    return rule._replace(origin="server:srv" if case.kind == "remote" else "local", surface=case.surface.name)


@settings(_quick, max_examples=250)
@given(cases)
def test_adding_a_deny_never_makes_a_verdict_milder(case: Case) -> None:
    """A deny of a rule, of an argument policy, or a rejection: the verdict is then deny."""
    assert _decided(replace(case, rules=(*case.rules, _never(case)))).verdict is Verdict.DENY
    assert _decided(replace(case, policies=(*case.policies, policy_denies))).verdict is Verdict.DENY
    assert _decided(replace(case, rejections=3)).verdict is Verdict.DENY
    assert _decided(replace(case, rejected=(case.arguments,))).verdict is Verdict.DENY
    assert _decided(replace(case, facts=replace(case.facts, stopped=True))).verdict is Verdict.DENY


@settings(_quick, max_examples=250)
@given(cases)
def test_adding_a_marker_never_makes_a_verdict_milder(case: Case) -> None:
    """The explicit marker, a predicate that says yes, typed input, a policy that says ask."""
    before = _decided(case).verdict
    for profile in (
        replace(case.profile, requires_approval=True),
        replace(case.profile, admin_only=True),
        replace(case.profile, approval_when=lambda _: True),
        replace(case.profile, input_schema={"type": "object", "properties": {"note": {}}}),
        replace(case.profile, data_class=None),
        replace(case.profile, tier=None) if case.profile.tier is Tier.CONSEQUENTIAL else case.profile,
    ):
        # A saved outcome would stand in for the predicate.
        facts = replace(case.facts, predicate=None) if case.profile.approval_when is None else case.facts
        if profile.tier is None and case.kind == "remote" and case.trust_hints:
            continue  # there the operator leaves the tier to the server
        assert _decided(replace(case, profile=profile, facts=facts)).verdict >= before
    asked = _decided(replace(case, policies=(*case.policies, policy_asks)))
    assert asked.verdict >= max(before, Verdict.ASK)


@settings(_quick, max_examples=250)
@given(cases)
def test_disabling_a_group_or_a_tool_or_narrowing_the_run_never_makes_a_verdict_milder(case: Case) -> None:
    before = _decided(case).verdict
    for group in ("mail", "code", "later"):
        assert _decided(replace(case, groups_off=case.groups_off | {group})).verdict >= before
    assert _decided(replace(case, switched_off=True)).verdict >= before
    assert _decided(replace(case, enabled=frozenset())).verdict is Verdict.DENY
    assert _decided(replace(case, caller=None)).verdict >= before
    assert _decided(replace(case, closed=True)).verdict >= before
    for fewer in range(len(case.configurations)):
        assert _decided(replace(case, configurations=case.configurations[:fewer])).verdict <= before


def _stricter(surface: Surface, *, attended: bool) -> Surface:
    """The surface with one more step of strictness in every answer."""
    step = {Verdict.ALLOW: Verdict.ASK if attended else Verdict.DENY}
    tiers = {tier.value: tier for tier in Tier} | {"unclassified": None}
    said = {name: step.get(surface.answer(tier), Verdict.DENY) for name, tier in tiers.items()}
    return Surface(surface.name, attended, **said)


@settings(_quick, max_examples=250)
@given(cases, st.booleans())
def test_a_stricter_surface_never_makes_a_verdict_milder(case: Case, attended: bool) -> None:
    stricter = _stricter(case.surface, attended=attended and case.surface.attended)
    assert _decided(replace(case, surface=stricter)).verdict >= _decided(case).verdict


@settings(_quick, max_examples=250)
@given(cases)
def test_strictness_never_specificity_breaks_ties_between_standing_rules(case: Case) -> None:
    """An exact allow does not beat a tool-wide deny, and a tool-wide allow does not beat an exact deny."""
    exact = {"n": 5, "note": "-"}
    case = replace(case, arguments=0)
    for deny, allow in ((None, exact), (exact, None)):
        never = _never(case, _NEVER._replace(arguments=deny))
        rules = (never, never._replace(effect="allow", arguments=allow))
        for order in (rules, rules[::-1]):
            assert _decided(replace(case, rules=order)).verdict is Verdict.DENY


@settings(_quick, max_examples=250)
@given(cases)
def test_an_unattended_surface_never_asks_and_must_ask_is_released_by_a_person_only(case: Case) -> None:
    decision = _decided(case)
    assert case.surface.attended or decision.verdict is not Verdict.ASK
    if decision.must_ask:
        assert decision.verdict is not Verdict.ALLOW


@settings(_quick, max_examples=250)
@given(cases)
def test_a_standing_deny_outlives_a_change_of_the_definition_and_an_allow_dies_with_it(case: Case) -> None:
    """A server must not lift a person's "never" by changing its description."""
    case = replace(case, rules=(_never(case)._replace(same_definition=False, same_tier=False),))
    assert _decided(case).verdict is Verdict.DENY
    allow = replace(case, rules=(_never(case)._replace(effect="allow", same_definition=False),))
    assert _decided(allow) == _decided(replace(case, rules=()))
