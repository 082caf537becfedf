"""Offering: which tools may take part in a run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from toolgate_langchain import (
    Caller,
    DataClass,
    RunConfiguration,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    TrustZone,
    Verdict,
)
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.errors import ConfigurationError

READ = ToolProfile(tier=Tier.READ_ONLY)
ADMIN = ToolProfile(tier=Tier.READ_ONLY, admin_only=True)
CODE = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"code"}))
CONTENT = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"content"}))
LOGS = ToolProfile(tier=Tier.READ_ONLY, data_class=DataClass.DIAGNOSTICS)


def a_gate(profiles: dict[str, ToolProfile] | None = None, **catalog: Any) -> ToolGate:
    named = profiles if profiles is not None else {"a": READ, "b": READ, "c": READ}
    tools = [Recorder().tool(name, profile) for name, profile in named.items()]
    return ToolGate(ToolCatalog.from_tools(tools, **catalog))


def code_of(gate: ToolGate, name: str, **where: Any) -> str:
    """The code of the gate that says no; empty where none does. A call gets the same answer."""
    offer = gate.decide_offer(name, surface="chat", **where)
    assert (gate.filter_offerable([name], surface="chat", **where) == [name]) is offer.allowed
    decision = gate.decide({"name": name, "args": {}}, surface="chat", **where)
    assert (decision.verdict is Verdict.ALLOW) is offer.allowed
    if name in gate.catalog.names():
        assert offer.code == ("" if offer.allowed else decision.code)
    return offer.code


# --- the list -------------------------------------------------------------------------------------


def test_filter_offerable_none_gives_the_enabled_set_not_the_whole_catalog() -> None:
    gate = a_gate(enabled=["c", "a"])
    assert gate.filter_offerable(None, surface="chat") == ["a", "c"]
    gate.catalog.switch_tool("a", on=False)
    assert gate.filter_offerable(None, surface="chat") == ["c"]
    assert a_gate().filter_offerable(None, surface="chat") == ["a", "b", "c"]


def test_an_empty_list_offers_nothing_and_the_model_is_then_called_without_tools() -> None:
    assert a_gate().filter_offerable([], surface="chat") == []
    for requested, bound in (((), []), (("a",), [["a"]])):
        talk = chat([], [Recorder().tool("a", READ)], configuration=RunConfiguration(tools=requested))
        talk.say()
        assert len(talk.model.seen) == 1
        assert talk.model.offered == bound


def test_order_is_kept_and_a_name_twice_stays_twice() -> None:
    gate = a_gate(enabled=["a", "b"])
    assert gate.filter_offerable(["b", "unknown", "a", "c", "b"], surface="chat") == ["b", "a", "b"]


def test_the_order_that_the_configuration_requests_is_the_order_in_which_the_model_is_offered() -> None:
    tools = [Recorder().tool(name, READ) for name in ("a", "b", "c")]
    talk = chat([], tools, configuration=RunConfiguration(tools=("c", "invented", "a")))
    talk.say()
    assert talk.model.offered == [["c", "a"]]


# --- each gate with its control -------------------------------------------------------------------


def test_unregistered_is_not_registered() -> None:
    assert code_of(a_gate(), "unknown") == "not_registered"
    assert code_of(a_gate(), "a") == ""


def test_a_closed_catalog_refuses_what_was_not_registered_by_hand() -> None:
    for closed, runs in ((True, 0), (False, 1)):
        ran = Recorder()
        gate = ToolGate(ToolCatalog.from_tools([ran.tool("known", READ)], closed=closed))
        talk = chat([says(call("own", "o"))], [ran.tool("own", READ), ran.tool("known", READ)], gate=gate)
        talk.say()
        assert ran.count("own") == runs
        assert talk.model.offered[0] == (["known"] if closed else ["own", "known"])


def test_an_empty_enabled_set_is_tool_disabled() -> None:
    assert code_of(a_gate(enabled=[]), "a") == "tool_disabled"
    assert code_of(a_gate(enabled=["a"]), "a") == ""


def test_an_admin_tool_without_a_caller_and_for_a_plain_caller_requires_admin_and_for_an_admin_is_allowed() -> None:
    gate = a_gate({"audit": ADMIN})
    assert code_of(gate, "audit") == "requires_admin"
    assert code_of(gate, "audit", caller=Caller("ann")) == "requires_admin"
    assert code_of(gate, "audit", caller=Caller("root", admin=True)) == ""


def test_a_tool_outside_the_configured_groups_is_configuration_group() -> None:
    gate = a_gate({"lint": CODE, "post": CONTENT, "plain": READ})
    content = RunConfiguration(groups=frozenset({"content"}))
    assert code_of(gate, "lint", configuration=content) == "configuration_group"
    assert code_of(gate, "plain", configuration=content) == "configuration_group"
    assert code_of(gate, "post", configuration=content) == ""
    assert code_of(gate, "lint", configuration=RunConfiguration(groups=frozenset({"content", "code"}))) == ""
    assert code_of(gate, "plain", configuration=RunConfiguration(groups=None)) == ""
    assert code_of(gate, "post", configuration=RunConfiguration(groups=frozenset())) == "configuration_group"


def test_an_unknown_group_in_a_configuration_is_an_error_when_it_is_loaded() -> None:
    gate = a_gate({"lint": CODE})
    with pytest.raises(ConfigurationError, match=r"configuration\.groups names 'cde'.*known groups: 'code'"):
        ToolGateMiddleware(gate, configuration=RunConfiguration(groups=frozenset({"cde"})))
    ToolGateMiddleware(gate, configuration=RunConfiguration(groups=frozenset({"code"})))


def test_a_diagnostics_tool_and_a_model_declared_external_anywhere_is_trust_zone_and_local_is_allowed() -> None:
    gate = a_gate({"logs": LOGS, "undeclared": READ})
    assert code_of(gate, "logs", zone=TrustZone.EXTERNAL_ANYWHERE) == "trust_zone"
    assert code_of(gate, "logs", zone=TrustZone.LOCAL) == ""
    assert code_of(gate, "logs", zone=TrustZone.PRIVATE_HOSTED) == ""
    assert code_of(gate, "undeclared", zone=TrustZone.PRIVATE_HOSTED) == "trust_zone"
    assert code_of(gate, "undeclared", zone=TrustZone.LOCAL) == ""


@pytest.mark.parametrize(
    ("zone", "highest"),
    [
        (TrustZone.LOCAL, DataClass.SECRET),
        (TrustZone.PRIVATE_HOSTED, DataClass.DIAGNOSTICS),
        (TrustZone.EXTERNAL_SAME_JURISDICTION, DataClass.INTERNAL_CONFIGURATION),
        (TrustZone.EXTERNAL_ANYWHERE, DataClass.BUSINESS),
    ],
)
def test_each_zone_has_its_ceiling(zone: TrustZone, highest: DataClass) -> None:
    classes = [
        DataClass.PUBLIC,
        DataClass.BUSINESS,
        DataClass.SOURCE_CODE,
        DataClass.INTERNAL_CONFIGURATION,
        DataClass.DIAGNOSTICS,
        DataClass.SECRET,
    ]
    gate = a_gate({one.value: ToolProfile(tier=Tier.READ_ONLY, data_class=one) for one in classes})
    offered = gate.filter_offerable(None, surface="chat", zone=zone)
    assert offered == [one.value for one in classes[: classes.index(highest) + 1]]


def test_with_no_zone_declared_for_the_runs_model_the_gate_is_off_and_with_several_the_worst_counts() -> None:
    gate = a_gate({"logs": LOGS})
    assert code_of(gate, "logs") == ""
    assert code_of(gate, "logs", zone=[None, None]) == ""
    assert code_of(gate, "logs", zone=[TrustZone.LOCAL, TrustZone.PRIVATE_HOSTED]) == ""
    assert code_of(gate, "logs", zone=[TrustZone.LOCAL, TrustZone.EXTERNAL_SAME_JURISDICTION]) == "trust_zone"
    assert code_of(gate, "logs", zone=[TrustZone.LOCAL, None]) == "trust_zone"


def test_disabled_and_above_the_ceiling_is_tool_disabled_and_the_message_does_not_mention_zones() -> None:
    gate = a_gate({"logs": LOGS}, enabled=[])
    zone = TrustZone.EXTERNAL_ANYWHERE
    offer = gate.decide_offer("logs", surface="chat", zone=zone)
    assert offer.code == "tool_disabled"
    assert "zone" not in offer.reason and "diagnostics" not in offer.reason
    gate.catalog.switch_tool("logs", on=True)
    assert code_of(gate, "logs", zone=zone) == "trust_zone"


def test_the_first_gate_that_says_no_is_reported_cheapest_and_least_revealing_first() -> None:
    """All fail at once; each one repaired shows the next."""
    profile = ToolProfile(groups=frozenset({"code"}), admin_only=True, data_class=DataClass.SECRET)
    tool = Recorder().tool("act", profile)
    gate = ToolGate(
        ToolCatalog.from_tools([tool], enabled=[]),
        [Surface("none", unclassified=Verdict.DENY), Surface("some")],
    )
    gate.catalog.switch_group("content", on=False)
    where: dict[str, Any] = {
        "surface": "none",
        "configuration": RunConfiguration(groups=frozenset({"content"})),
        "zone": TrustZone.EXTERNAL_ANYWHERE,
    }
    assert gate.decide_offer("other", **where).code == "not_registered"
    assert gate.decide_offer("act", **where).code == "tool_disabled"
    gate.catalog.switch_tool("act", on=True)
    assert gate.decide_offer("act", **where).code == "requires_admin"
    where["caller"] = Caller("root", admin=True)
    assert gate.decide_offer("act", **where).code == "configuration_group"
    where["configuration"] = RunConfiguration(groups=frozenset({"code"}))
    assert gate.decide_offer("act", **where).code == "trust_zone"
    where["zone"] = TrustZone.LOCAL
    assert gate.decide_offer("act", **where).code == "surface"
    where["surface"] = "some"
    assert gate.decide_offer("act", **where).allowed


def test_a_tool_override_cannot_enable_a_tool_of_a_disabled_group() -> None:
    gate = a_gate({"lint": CODE, "read": READ}, disabled_groups=["code"])
    gate.catalog.switch_tool("lint", on=True)
    assert code_of(gate, "lint") == "tool_disabled"
    assert code_of(gate, "read") == ""
    gate.catalog.switch_group("code", on=True)
    assert code_of(gate, "lint") == ""


def test_a_group_disabled_by_name_also_covers_tools_added_later() -> None:
    gate = a_gate({})
    gate.catalog.switch_group("code", on=False)
    gate.catalog.register(Recorder().tool("lint", CODE))
    gate.catalog.register(Recorder().tool("post", CONTENT))
    gate.catalog.add_remote(RemoteServer("srv", profiles={"scan": CODE}), [Recorder().tool("scan")])
    assert gate.filter_offerable(None, surface="chat") == ["post"]
    ran = Recorder()
    talk = chat([says(call("fmt", "f"), call("ok", "k"))], [ran.tool("fmt", CODE), ran.tool("ok", CONTENT)], gate=gate)
    talk.say()
    assert ran.names == ["ok"]
