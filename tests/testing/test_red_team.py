"""The red team lets nothing through and has no control refused, on every host, synchronously and asynchronously."""

from __future__ import annotations

import pytest

from tests.testing.gates import CHAT, CRON, FORMS, hosts_of, plain_gate, tried
from toolgate_langchain import InMemoryLedger, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.testing import ControlOutcome, Host, Outcome, all_attacks, all_hosts, red_team

LINES = {1, 2, 9, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35}


@pytest.mark.parametrize("host", all_hosts(), ids=lambda host: f"{host.name}{' (async)' * host.asynchronous}")
def test_nothing_is_let_through_and_nothing_harmless_refused(host: Host) -> None:
    """Every attack is made on some surface of a host that can do what it needs, and so is every control."""
    # What needs no host is tried once, not once more beside each of them.
    attacks = [one for one in all_attacks() if one.where != "gate" or host.name == all_hosts()[0].name]
    report = red_team(plain_gate, hosts=[host], attacks=attacks)
    assert report.ok, report.text()
    made = {one.attack for one in report.findings if one.outcome is Outcome.CAUGHT}
    worked = {one.attack for one in report.findings if one.control is ControlOutcome.WORKS}
    assert made == worked == {one.name for one in attacks if one.needs <= host.abilities}


def test_every_line_has_an_attack_and_every_attack_a_name_of_its_own() -> None:
    attacks = all_attacks()
    assert {one.line for one in attacks} == LINES
    assert len({one.name for one in attacks}) == len(attacks)


def test_some_host_can_do_everything() -> None:
    needed = frozenset[str]().union(*(one.needs for one in all_attacks()))
    assert any(needed <= host.abilities for host in all_hosts())


def test_every_host_is_attacked_both_synchronously_and_asynchronously() -> None:
    hosts = all_hosts()
    assert {one.name for one in hosts if one.asynchronous} == {one.name for one in hosts if not one.asynchronous}
    assert len({one.name for one in hosts}) * 2 == len(hosts)


@pytest.mark.parametrize("strict", ["closed", "only some enabled"])
def test_a_catalog_that_takes_nothing_at_first_sight_is_attacked_as_well(strict: str) -> None:
    def gate() -> ToolGate:
        catalog = ToolCatalog(closed=True) if strict == "closed" else ToolCatalog(enabled=["mine"])
        return ToolGate(catalog, [CHAT, CRON])

    names = ("words-beside-a-call", "double-click", "subagent-unasked", "hint-read-only", "stopped-before")
    report = tried(gate, *names, surfaces=["chat", "cron"])
    assert report.ok, report.text()


def test_a_surface_that_lets_routine_tools_run_lets_nothing_else_through() -> None:
    # The form in which a call that runs unasked takes the shortest way.
    report = tried(lambda: ToolGate(surfaces=[Surface("chat", routine=Verdict.ALLOW)]), hosts=hosts_of(FORMS[1]))
    assert report.ok, report.text()


def test_a_surface_that_denies_consequential_tools_by_design_refuses_nothing_by_mistake() -> None:
    surface = Surface("chat", consequential=Verdict.DENY, unclassified=Verdict.DENY)
    report = tried(lambda: ToolGate(surfaces=[surface]), hosts=hosts_of(FORMS[0]))
    assert not report.let_through and not report.refused_by_mistake, report.text()
    reasons = {one.control_why for one in report.findings if one.control is ControlOutcome.NOT_APPLICABLE}
    assert "surface 'chat' denies consequential tools" in reasons


class TestWhatItAsksFor:
    def test_a_gate_that_was_used_before_is_refused(self) -> None:
        gate = plain_gate()
        with pytest.raises(ConfigurationError, match="same ledger twice"):
            red_team(lambda: gate)

    def test_a_catalog_that_is_shared_is_refused(self) -> None:
        catalog = ToolCatalog()
        with pytest.raises(ConfigurationError, match="same catalog twice"):
            red_team(lambda: ToolGate(catalog, [CHAT]))

    def test_a_ledger_that_is_shared_is_refused(self) -> None:
        ledger = InMemoryLedger()
        with pytest.raises(ConfigurationError, match="same ledger twice"):
            red_team(lambda: ToolGate(surfaces=[CHAT], ledger=ledger))

    def test_what_is_no_gate_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="not a ToolGate"):
            red_team(lambda: None)  # type: ignore[arg-type,return-value]

    def test_a_surface_that_the_gate_does_not_have_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="unknown surface 'mail'"):
            red_team(plain_gate, surfaces=["mail"])

    def test_no_host_at_all_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="hosts is empty"):
            red_team(plain_gate, hosts=[])


def test_its_tools_are_its_own_and_leave_the_configurations_tools_alone() -> None:
    made: list[ToolGate] = []

    def gate() -> ToolGate:
        made.append(plain_gate())
        return made[-1]

    tried(gate, "words-beside-a-call")
    profile = ToolProfile(tier=Tier.ROUTINE)
    assert all(name.startswith("redteam_") for one in made for name in one.catalog.names())
    assert profile.tier is Tier.ROUTINE
