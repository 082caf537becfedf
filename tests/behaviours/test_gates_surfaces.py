"""Tiers and surfaces: what a tool is, and what that gets where a run is driven from."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Surface, Tier, ToolCatalog, ToolGate, ToolGateMiddleware, ToolProfile, Verdict
from toolgate_langchain.approvals.rules import StandingRule
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.policy.context import CallFacts

READ = ToolProfile(tier=Tier.READ_ONLY)


def verdict(surface: Surface, tier: Tier | None) -> Verdict:
    gate = ToolGate(ToolCatalog.from_tools([Recorder().tool("act", ToolProfile(tier=tier))]), [surface])
    return gate.decide({"name": "act", "args": {}}, surface=surface).verdict


def test_unknown_or_unclassified_counts_as_consequential_on_every_surface() -> None:
    for attended, said in product((True, False), (None, *Verdict)):
        if not attended and said is Verdict.ASK:
            continue
        surface = Surface("s", attended, consequential=said)
        if said is not Verdict.ALLOW:
            assert verdict(surface, None) is verdict(surface, Tier.CONSEQUENTIAL)
        assert verdict(surface, None) is not Verdict.ALLOW
        assert verdict(surface, Tier.READ_ONLY) is Verdict.ALLOW
    assert ToolProfile().effective_tier is Tier.CONSEQUENTIAL


@pytest.mark.parametrize("attended", [True, False])
def test_the_defaults_of_a_surface(attended: bool) -> None:
    """Read-only is allowed; the rest is asked where a person is there, and denied where nobody is."""
    surface, rest = Surface("s", attended), Verdict.ASK if attended else Verdict.DENY
    assert [verdict(surface, tier) for tier in (*Tier, None)] == [Verdict.ALLOW, rest, rest, rest]


def test_each_surfaces_own_unclassified_answer_applies_and_cannot_be_looser_than_its_consequential_one() -> None:
    stricter = Surface("s", consequential=Verdict.ASK, unclassified=Verdict.DENY)
    assert verdict(stricter, None) is Verdict.DENY
    assert verdict(stricter, Tier.CONSEQUENTIAL) is Verdict.ASK
    with pytest.raises(ValueError, match="surface 's': unclassified='allow' is milder than consequential='ask'"):
        Surface("s", unclassified=Verdict.ALLOW)
    with pytest.raises(ValueError, match="milder"):
        Surface("s", consequential=Verdict.DENY, unclassified=Verdict.ASK)
    assert verdict(Surface("s", consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW), None) is Verdict.ALLOW
    assert verdict(Surface("s", consequential=Verdict.DENY), None) is Verdict.DENY


def test_a_surface_that_denies_a_tier_does_not_run_its_tools_whatever_marker_declaration_rule_or_heuristic() -> None:
    profile = ToolProfile(tier=Tier.ROUTINE, requires_approval=True, approval_when=lambda _: False)
    for routine, expected in ((Verdict.DENY, Verdict.DENY), (None, Verdict.ALLOW)):
        surface = Surface("chat", routine=routine)
        catalog = ToolCatalog()
        record = RemoteServer("srv", declarations={"act": False}, profiles={"act": profile}, trust_hints=True)
        catalog.add_remote(record, [Recorder().tool("act").model_copy(update={"metadata": {"readOnlyHint": True}})])
        entry = catalog.get("act")
        assert entry is not None
        gate = ToolGate(catalog, [surface])
        rule = StandingRule(
            tool_name="act",
            origin=entry.origin,
            fingerprint=entry.fingerprint,
            tier=entry.tier,
            surface="chat",
            created_at=gate.judge.clock(),
        )
        heuristic = CallFacts(heuristic="yes", heuristics_run=True)
        decision = gate.decide({"name": "act", "args": {}}, surface="chat", rules=[rule], facts=heuristic)
        assert decision.verdict is expected
        assert decision.code == ("surface" if expected is Verdict.DENY else "standing_rule")
        assert gate.filter_offerable(["act"], surface="chat") == ([] if expected is Verdict.DENY else ["act"])


def test_a_surface_that_denies_a_tier_does_not_offer_its_tools_to_the_model_and_a_call_is_refused_unasked() -> None:
    for routine, offered in ((Verdict.DENY, ["read"]), (Verdict.ALLOW, ["read", "write"])):
        ran = Recorder()
        tools = [ran.tool("read", READ), ran.tool("write", ToolProfile(tier=Tier.ROUTINE))]
        talk = chat(
            [says(call("write", "w"))],
            tools,
            gate=ToolGate(surfaces=[Surface("chat", routine=routine)], heuristics=[lambda _call, _context: True]),
        )
        talk.say()
        assert talk.model.offered[0] == offered
        assert not talk.requests
        assert ran.count("write") == (1 if "write" in offered else 0)


def test_an_unknown_surface_name_is_an_error_that_names_the_known_ones() -> None:
    gate = ToolGate(surfaces=[Surface("chat"), Surface("cron", attended=False)])
    with pytest.raises(ConfigurationError, match="unknown surface 'chatt'; known: 'chat', 'cron'"):
        ToolGateMiddleware(gate, surface="chatt")
    with pytest.raises(ConfigurationError, match="unknown surface 'chatt'"):
        gate.unattended(["read"], surface="chatt")
    with pytest.raises(ConfigurationError, match="not one of this gate"):
        gate.unattended(["read"], surface=Surface("cron", attended=False, read_only=Verdict.DENY))
    assert ToolGateMiddleware(gate, surface="chat").gate is gate


def test_moving_a_tool_between_the_two_change_tiers_changes_no_verdict_on_a_surface_that_treats_them_alike() -> None:
    for attended, said in product((True, False), (None, *Verdict)):
        if not attended and said is Verdict.ASK:
            continue
        alike = Surface("s", attended, routine=said, consequential=said)
        assert verdict(alike, Tier.ROUTINE) is verdict(alike, Tier.CONSEQUENTIAL)
    apart = Surface("s", routine=Verdict.ALLOW)
    assert verdict(apart, Tier.ROUTINE) is not verdict(apart, Tier.CONSEQUENTIAL)


def test_a_tier_is_never_a_permission_and_changes_state_gives_the_two_way_answer() -> None:
    careful = Surface("s", read_only=Verdict.DENY)
    assert verdict(careful, Tier.READ_ONLY) is Verdict.DENY
    assert [tier.changes_state for tier in Tier] == [False, True, True]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", ["read_only", "routine", "consequential", "unclassified"])
def test_an_unattended_surface_with_an_explicit_ask_is_an_error_that_names_the_field(tier: str) -> None:
    with pytest.raises(ValueError, match=f"surface 'cron': .*{tier}.* is 'ask', but nobody is there"):
        Surface("cron", attended=False, **{tier: Verdict.ASK})
    Surface("cron", attended=False, **{tier: Verdict.DENY})
    Surface(
        "chat", attended=True, consequential=Verdict.ALLOW, **({tier: Verdict.ASK} if tier != "consequential" else {})
    )


def test_duplicate_surfaces_no_surface_and_what_is_not_a_surface_are_errors() -> None:
    with pytest.raises(ConfigurationError, match="two surfaces are named 'chat'"):
        ToolGate(surfaces=[Surface("chat"), Surface("chat", attended=False)])
    with pytest.raises(ConfigurationError, match="surfaces is empty"):
        ToolGate(surfaces=[])
    with pytest.raises(ConfigurationError, match="'chat', which is not a Surface"):
        ToolGate(surfaces=["chat"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="a surface's name is empty"):
        Surface("")
    with pytest.raises(ValueError, match="routine"):
        Surface("chat", routine="perhaps")  # type: ignore[arg-type]
    assert Surface("chat", routine="deny").routine is Verdict.DENY  # type: ignore[arg-type]


@pytest.mark.parametrize("cap", [0, -1, 1.5, True, "40", None])
@pytest.mark.parametrize("name", ["max_auto_approvals", "max_requests_per_turn"])
def test_a_cap_below_1_or_of_another_kind_is_an_error_that_names_the_argument(name: str, cap: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is {cap!r}; it must be a whole number of at least 1"):
        ToolGate(**{name: cap})
    allowed: dict[str, Any] = {name: 1}
    ToolGate(**allowed)
