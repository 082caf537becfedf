"""A run inside of another has at most its rights: the stricter of both holds, whatever either says."""

from __future__ import annotations

from itertools import product

import pytest

from toolgate_langchain import Caller, RunConfiguration, Surface, Tier, TrustZone, Verdict
from toolgate_langchain.policy.bounds import strictest, within
from toolgate_langchain.policy.context import RunContext

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
TIERS = (*Tier, None)


def surfaces() -> list[Surface]:
    """Attended and unattended surfaces with every coherent set of answers for two of the tiers."""
    attended = [
        Surface(f"a-{read.value}-{high.value}", read_only=read, consequential=high, unclassified=max(high, ASK))
        for read, high in product(Verdict, Verdict)
    ]
    unattended = [
        Surface(f"u-{read.value}-{high.value}", attended=False, read_only=read, consequential=high)
        for read, high in product((ALLOW, DENY), (ALLOW, DENY))
    ]
    return attended + unattended


@pytest.mark.parametrize("first", surfaces(), ids=lambda surface: surface.name)
def test_two_surfaces_together_are_never_milder_than_either(first: Surface) -> None:
    for second in surfaces():
        both = strictest((first, second))
        assert both.attended is (first.attended and second.attended)
        for tier in TIERS:
            strict = max(first.answer(tier), second.answer(tier))
            assert both.answer(tier) is (DENY if strict is ASK and not both.attended else strict)


def test_a_surface_alone_is_itself_and_two_have_a_name_of_their_own() -> None:
    chat, cron = Surface("chat"), Surface("cron", attended=False)
    assert strictest((chat,)) is chat
    assert strictest((chat, cron)).name == "chat > cron"


@pytest.mark.parametrize(
    ("outer", "own", "left"),
    [
        (Caller("ann", admin=True), Caller("ann", admin=True), Caller("ann", admin=True)),
        (Caller("ann", admin=True), Caller("ben"), Caller("ann")),
        (Caller("ann"), Caller("root", admin=True), Caller("ann")),
        (None, Caller("root", admin=True), None),
        (Caller("ann", admin=True), None, None),
    ],
)
def test_the_caller_is_the_outer_runs_and_an_administrator_only_where_both_are(
    outer: Caller | None, own: Caller | None, left: Caller | None
) -> None:
    chat = Surface("chat")
    assert within(RunContext(chat, own), RunContext(chat, outer)).caller == left


@pytest.mark.parametrize(
    ("outer", "own", "left"),
    [
        (TrustZone.LOCAL, TrustZone.LOCAL, TrustZone.LOCAL),
        (TrustZone.LOCAL, TrustZone.PRIVATE_HOSTED, TrustZone.PRIVATE_HOSTED),
        (TrustZone.PRIVATE_HOSTED, TrustZone.LOCAL, TrustZone.PRIVATE_HOSTED),
        (TrustZone.LOCAL, None, TrustZone.EXTERNAL_ANYWHERE),
        (None, TrustZone.LOCAL, TrustZone.EXTERNAL_ANYWHERE),
        (None, None, None),
    ],
)
def test_the_zone_is_the_worst_and_one_that_nobody_declared_is_external(
    outer: TrustZone | None, own: TrustZone | None, left: TrustZone | None
) -> None:
    chat = Surface("chat")
    assert within(RunContext(chat, zone=own), RunContext(chat, zone=outer)).zone is left


def test_all_configurations_must_permit_a_tool() -> None:
    chat = Surface("chat")
    files, mail = RunConfiguration(groups=frozenset({"files"})), RunConfiguration(groups=frozenset({"mail"}))
    both = within(RunContext(chat, configurations=(files,)), RunContext(chat, configurations=(mail,)))
    assert set(both.configurations) == {files, mail}


def test_bounding_twice_gives_the_same_and_bounding_by_itself_the_very_same() -> None:
    outer = RunContext(Surface("chat"), Caller("ann"), (RunConfiguration(groups=frozenset({"mail"})),), TrustZone.LOCAL)
    own = RunContext(Surface("cli"), Caller("ben", admin=True), (RunConfiguration(tools=("rm",)),))
    once = within(own, outer)
    assert within(once, outer) is once
    assert within(outer, outer) is outer
    assert [surface.name for surface in once.surfaces] == ["chat", "cli"]
