"""What each gate says to the operator, and what a surface says when it is made wrongly."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import tool
from pydantic import ValidationError

from toolgate_langchain import (
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
from toolgate_langchain.policy.context import RunContext, worst_zone
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.policy.gates import decide_offer, filter_offerable
from toolgate_langchain.vocabulary import Verdict

CHAT = Surface("chat")


@tool
def act() -> str:
    """Act."""
    return "acted"


def offered(context: RunContext, *, catalog: ToolCatalog | None = None, **profile: Any) -> tuple[bool, str, str]:
    """What the gates say of the tool `act`."""
    if catalog is None:
        catalog = ToolCatalog()
        catalog.register(act, ToolProfile(**profile))
    said = decide_offer(catalog.get("act"), context, catalog)
    return said.allowed, said.code, said.reason


def test_a_tool_that_may_take_part_has_neither_code_nor_reason() -> None:
    assert offered(RunContext(CHAT)) == (True, "", "")


def test_not_registered_says_why_it_does_not_count_as_registered() -> None:
    assert offered(RunContext(CHAT), catalog=ToolCatalog()) == (
        False, Code.NOT_REGISTERED, "the catalog does not know it",
    )  # fmt: skip
    closed = ToolCatalog(closed=True)
    met = closed.meet(act)
    said = decide_offer(met, RunContext(CHAT), closed)
    assert (said.code, said.reason) == (
        Code.NOT_REGISTERED, "the catalog is closed and it was not registered by hand",
    )  # fmt: skip
    assert decide_offer(met, RunContext(CHAT), ToolCatalog()).allowed


def test_a_closed_catalog_lets_take_part_what_was_registered_by_hand() -> None:
    closed = ToolCatalog(closed=True)
    closed.register(act, ToolProfile())
    assert offered(RunContext(CHAT), catalog=closed) == (True, "", "")


def test_a_tool_whose_name_is_known_and_refused_says_why() -> None:
    refused = CatalogEntry("act", ToolProfile(), tool=act, withheld="it was refused to server 'srv'")
    said = decide_offer(refused, RunContext(CHAT), ToolCatalog())
    assert (said.allowed, said.code, said.reason) == (False, Code.NOT_REGISTERED, "it was refused to server 'srv'")


def test_a_tool_that_its_server_no_longer_lists_is_not_registered() -> None:
    catalog, server = ToolCatalog(), RemoteServer("srv", ("run",))
    catalog.add_remote(server, [act])
    assert offered(RunContext(CHAT), catalog=catalog)[0]
    catalog.add_remote(server, [])
    assert offered(RunContext(CHAT), catalog=catalog)[:2] == (False, Code.NOT_REGISTERED)


@pytest.mark.parametrize(
    ("caller", "who"), [(None, "there is no caller"), (Caller("ann"), "caller 'ann' is not an administrator")]
)
def test_requires_admin_says_who_is_none(caller: Caller | None, who: str) -> None:
    said = offered(RunContext(CHAT, caller), admin_only=True)
    assert said == (False, Code.REQUIRES_ADMIN, f"it is for administrators, and {who}")
    assert offered(RunContext(CHAT, Caller("root", admin=True)), admin_only=True)[0]


@pytest.mark.parametrize(
    ("groups", "named"), [((), "no group"), (("mail",), "mail"), (("web", "mail", "code"), "code, mail, web")]
)
def test_configuration_group_names_the_tools_groups(groups: tuple[str, ...], named: str) -> None:
    context = RunContext(CHAT, configurations=(RunConfiguration(groups={"other"}),))  # type: ignore[arg-type]
    said = offered(context, groups=frozenset(groups))
    assert said == (False, Code.CONFIGURATION_GROUP, f"it is outside the run's configuration (it is in {named})")


def test_every_configuration_must_permit_it() -> None:
    """The one saved with the run and the live one, whichever comes first."""
    mail, code = (RunConfiguration(groups=frozenset({name})) for name in ("mail", "code"))
    assert offered(RunContext(CHAT, configurations=(mail,)), groups={"mail"})[0]
    for both in ((mail, code), (code, mail)):
        assert offered(RunContext(CHAT, configurations=both), groups={"mail"})[1] == Code.CONFIGURATION_GROUP


def test_trust_zone_names_class_ceiling_and_zone() -> None:
    context = RunContext(CHAT, zone=TrustZone.EXTERNAL_ANYWHERE)
    assert offered(context, data_class=DataClass.DIAGNOSTICS) == (
        False,
        Code.TRUST_ZONE,
        "its results are diagnostics, above business, the ceiling of zone external_anywhere",
    )
    assert offered(context)[2].startswith("its results are secret, above business")
    assert offered(context, data_class=DataClass.BUSINESS)[0]


@pytest.mark.parametrize(("tier", "named"), [(None, "unclassified"), (Tier.CONSEQUENTIAL, "consequential")])
def test_surface_names_the_tier_that_it_denies(tier: Tier | None, named: str) -> None:
    cron = Surface("cron", attended=False)
    assert offered(RunContext(cron), tier=tier) == (False, Code.SURFACE, f"surface 'cron' denies {named} tools")


def test_what_is_offered_keeps_its_order_and_doubles_and_invents_no_name() -> None:
    catalog = ToolCatalog()
    for name, tier in (("b", Tier.READ_ONLY), ("a", Tier.READ_ONLY), ("c", Tier.CONSEQUENTIAL)):
        catalog.register(act.model_copy(update={"name": name}), ToolProfile(tier=tier))
    cron = RunContext(Surface("cron", attended=False))
    assert filter_offerable(["c", "a", "unknown", "b", "a"], cron, catalog) == ["a", "b", "a"]
    assert filter_offerable(None, cron, catalog) == ["b", "a"]
    assert filter_offerable([], cron, catalog) == []


class TestTheWorstZone:
    @pytest.mark.parametrize(
        ("zones", "worst"),
        [
            (None, None),
            ([], None),
            ([None, None], None),
            (TrustZone.LOCAL, TrustZone.LOCAL),
            ([TrustZone.LOCAL], TrustZone.LOCAL),
            ([TrustZone.LOCAL, TrustZone.PRIVATE_HOSTED], TrustZone.PRIVATE_HOSTED),
            ((TrustZone.PRIVATE_HOSTED, TrustZone.LOCAL), TrustZone.PRIVATE_HOSTED),
            ([TrustZone.LOCAL, None], TrustZone.EXTERNAL_ANYWHERE),
        ],
    )
    def test_it_counts_and_an_undeclared_further_model_is_external_anywhere(
        self, zones: Any, worst: TrustZone | None
    ) -> None:
        assert worst_zone(zones) is worst

    @pytest.mark.parametrize("wrong", ["local", 0, {TrustZone.LOCAL: 1}, [TrustZone.LOCAL, "local"], [False]])
    def test_anything_else_is_refused(self, wrong: Any) -> None:
        with pytest.raises(TypeError, match="a zone is a TrustZone or a sequence of them"):
            worst_zone(wrong)


class TestASurfaceThatIsWrong:
    def test_an_ask_where_nobody_is_there_names_each_field(self) -> None:
        with pytest.raises(ValidationError, match=r"surface 'cron': routine, unclassified is 'ask', but nobody is"):
            Surface("cron", attended=False, routine=Verdict.ASK, unclassified=Verdict.ASK)

    @pytest.mark.parametrize(
        ("attended", "consequential", "shown"),
        [(True, None, "ask"), (True, Verdict.DENY, "deny"), (False, None, "deny")],
    )
    def test_an_unclassified_milder_than_consequential_names_both(
        self, attended: bool, consequential: Verdict | None, shown: str
    ) -> None:
        """The routine verdict is another, so that it cannot be the one that is named or compared."""
        said = rf"unclassified='allow' is milder than consequential='{shown}'"
        with pytest.raises(ValidationError, match=said):
            Surface("s", attended, routine=Verdict.ALLOW, consequential=consequential, unclassified=Verdict.ALLOW)

    def test_as_strict_or_stricter_is_taken(self) -> None:
        for verdict in (Verdict.ASK, Verdict.DENY):
            assert Surface("s", consequential=Verdict.ASK, unclassified=verdict).answer(None) is verdict
