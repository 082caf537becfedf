"""The unattended filter: the tools that never pause a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.types import interrupt

from tests.support import Recorder, call, chat, says
from toolgate_langchain import ApprovalRule, DataClass, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer

FORM = {"type": "object", "properties": {"city": {"type": "string"}}}
READ = ToolProfile(tier=Tier.READ_ONLY)
PROFILES: Mapping[str, ToolProfile] = {
    "read": READ,
    "second_read": READ,
    "write": ToolProfile(tier=Tier.ROUTINE),
    "delete": ToolProfile(tier=Tier.CONSEQUENTIAL),
    "marked": ToolProfile(tier=Tier.READ_ONLY, requires_approval=True),
    "asks_input": ToolProfile(tier=Tier.READ_ONLY, input_schema=FORM),
    "predicate": ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda _: False),
    "unclassified": ToolProfile(),
}


def a_gate(*, rule: ApprovalRule | None = None, surfaces: tuple[Surface, ...] = ()) -> ToolGate:
    catalog = ToolCatalog.from_tools([Recorder().tool(name, profile) for name, profile in PROFILES.items()])
    catalog.add_remote(RemoteServer("srv", profiles={"remote_read": READ}), [Recorder().tool("remote_read")])
    return ToolGate(catalog, surfaces or (Surface("cron", attended=False),), approval_rule=rule)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["read"], ["read"]),
        (["write", "delete"], []),
        (["marked"], []),
        (["asks_input"], []),
        (["unknown"], []),
        (["second_read", "write", "unknown", "read", "asks_input", "marked"], ["second_read", "read"]),
        (["second_read", "write", "unknown", "asks_input", "read", "marked"], ["second_read", "read"]),
        (["read", "read", "write", "read"], ["read", "read", "read"]),
        ([], []),
        (["predicate"], []),
        (["unclassified"], []),
    ],
    ids=lambda names: ",".join(names) or "nothing",
)
def test_the_filter_keeps_what_never_pauses_in_order_with_duplicates_as_given(
    given: list[str], kept: list[str]
) -> None:
    assert a_gate().unattended(given, surface="cron") == kept


def test_remote_undeclared_is_left_out_and_with_the_exemption_kept_and_it_then_runs_without_a_pause() -> None:
    assert a_gate().unattended(["remote_read", "read"], surface="cron") == ["read"]
    exempting = a_gate(rule=ApprovalRule("exempt"))
    assert exempting.unattended(["remote_read", "read"], surface="cron") == ["remote_read", "read"]
    for gate, runs in ((a_gate(), 0), (exempting, 1)):
        ran = Recorder()
        tool = ran.tool("remote_read")
        gate.catalog.add_remote(RemoteServer("srv", profiles={"remote_read": READ}), [tool])
        talk = chat([says(call("remote_read", "r"))], [tool], gate=gate, surface="cron")
        talk.say()
        assert not talk.requests
        assert ran.count("remote_read") == runs


def test_a_predicate_is_left_out_also_if_it_never_says_true_and_runs_where_a_person_could_be_asked() -> None:
    gate = a_gate(surfaces=(Surface("cron", attended=False), Surface("chat")))
    assert gate.unattended(["predicate"], surface="cron") == []
    assert gate.decide({"name": "predicate", "args": {}}, surface="chat").verdict is Verdict.ALLOW


def test_a_read_tool_that_an_operators_setting_makes_approval_bound_leaves_the_set_without_a_change_in_the_filter() -> (
    None
):
    assert a_gate().unattended(["read"], surface="cron") == ["read"]
    careful = Surface("cron", attended=False, read_only=Verdict.DENY)
    assert a_gate(surfaces=(careful,)).unattended(["read"], surface="cron") == []
    attended = Surface("chat", read_only=Verdict.ASK)
    assert a_gate(surfaces=(attended,)).unattended(["read"], surface="chat") == []
    bound = ToolCatalog.from_tools([Recorder().tool("read")], profiles={"read": PROFILES["marked"]})
    assert ToolGate(bound).unattended(["read"], surface="cron") == []


def test_the_filter_promises_no_pause_not_success() -> None:
    """It does not decide what may be offered: a tool of administrators stays in the set and is still refused."""
    gate = ToolGate(
        ToolCatalog.from_tools([Recorder().tool("audit", ToolProfile(tier=Tier.READ_ONLY, admin_only=True))])
    )
    assert gate.unattended(["audit"], surface="cron") == ["audit"]
    assert gate.filter_offerable(["audit"], surface="cron") == []


# --- the property, with a real agent --------------------------------------------------------------

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@dataclass(frozen=True)
class Drawn:
    """One tool of a generated catalog."""

    profile: ToolProfile
    remote: bool
    declared: bool | None
    interrupts: bool


_PREDICATES: list[Callable[[Mapping[str, Any]], bool] | None] = [
    None,
    None,
    None,
    lambda arguments: arguments.get("n") == 1,
    lambda _: True,
    lambda arguments: bool(arguments["missing"]),
]
_TOOLS = st.builds(
    Drawn,
    st.builds(
        ToolProfile,
        tier=st.sampled_from([*Tier, Tier.READ_ONLY, None]),
        requires_approval=st.sampled_from([False, False, False, True]),
        approval_when=st.sampled_from(_PREDICATES),
        input_schema=st.sampled_from([None, None, None, FORM]),
        data_class=st.sampled_from([None, *DataClass]),
    ),
    remote=st.booleans(),
    declared=st.sampled_from([None, True, False]),
    interrupts=st.sampled_from([False, False, False, True]),
)
_VERDICTS = st.sampled_from([Verdict.ALLOW, Verdict.DENY, None])
_NAMES = ("t0", "t1", "t2", "t3", "invented")
_CALLS = st.tuples(st.sampled_from(_NAMES), st.sampled_from([{}, {"n": 1}, {"n": "x"}]))


def _asks_about_one(view: ArgumentView) -> PolicyAnswer:
    return PolicyAnswer(Verdict.ASK if view.arguments.get("n") == 1 else Verdict.ALLOW)


def _registered(drawn: list[Drawn], ran: Recorder) -> tuple[ToolCatalog, list[BaseTool]]:
    catalog, tools = ToolCatalog(), list[BaseTool]()
    for number, one in enumerate(drawn):
        tool = ran.tool(f"t{number}", schema=_SCHEMA)
        if one.interrupts:
            tool = tool.model_copy(update={"func": lambda **_: interrupt("?"), "coroutine": None})
        if one.remote:
            declarations = None if one.declared is None else {tool.name: one.declared}
            record = RemoteServer(f"srv{number}", declarations=declarations, profiles={tool.name: one.profile})
            catalog.add_remote(record, [tool])
        else:
            catalog.register(tool, one.profile)
        tools.append(tool)
    return catalog, tools


_generated = settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@_generated
@given(
    drawn=st.lists(_TOOLS, min_size=1, max_size=4),
    answers=st.tuples(_VERDICTS, _VERDICTS, _VERDICTS),
    exempt=st.booleans(),
    must_ask=st.booleans(),
    unfiltered=st.booleans(),
    asynchronous=st.booleans(),
    script=st.lists(st.lists(_CALLS, min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_for_any_catalog_surface_and_script_of_a_model_restricted_to_the_filtered_set_the_run_never_suspends(
    drawn: list[Drawn],
    answers: tuple[Verdict | None, Verdict | None, Verdict | None],
    exempt: bool,
    must_ask: bool,
    unfiltered: bool,
    asynchronous: bool,
    script: list[list[tuple[str, dict[str, Any]]]],
) -> None:
    """Whatever the model calls: what would still need a person is denied, an interrupt in a tool is an error result.

    With `unfiltered` the model also calls what is not in the set; that never suspends the run either.
    """
    ran = Recorder()
    cron = Surface("cron", False, *answers)
    catalog, tools = _registered(drawn, ran)
    gate = ToolGate(
        catalog,
        [cron],
        approval_rule=ApprovalRule("exempt" if exempt else "unclassified"),
        argument_policies=[_asks_about_one] if must_ask else [],
    )
    allowed = gate.unattended(_NAMES, surface="cron")
    turns: list[AIMessage] = []
    for number, turn in enumerate(script):
        made = [
            call(name, f"c{number}_{n}", **args) for n, (name, args) in enumerate(turn) if unfiltered or name in allowed
        ]
        if made:
            turns.append(says(*made))
    talk = chat(turns, tools, gate=gate, surface="cron", asynchronous=asynchronous)
    talk.say()
    assert not talk.agent.get_state(talk.config).interrupts
    assert talk.messages[-1].content == "done"
    calls = [str(one["id"]) for turn in turns for one in turn.tool_calls]
    assert sorted(result.tool_call_id for result in talk.results) == sorted(calls)
    assert set(ran.names) <= set(allowed)
    offered = [name for name in _NAMES if name in gate.filter_offerable(allowed, surface="cron")]
    assert all(sorted(names) == offered for names in talk.model.offered)


@_generated
@given(
    drawn=st.lists(_TOOLS, min_size=1, max_size=4),
    answers=st.tuples(*[st.sampled_from([*Verdict, None])] * 3),
    exempt=st.booleans(),
    asynchronous=st.booleans(),
    script=st.lists(st.lists(_CALLS, min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_also_where_a_person_is_there_a_model_restricted_to_the_filtered_set_never_suspends_the_run(
    drawn: list[Drawn],
    answers: tuple[Verdict | None, Verdict | None, Verdict | None],
    exempt: bool,
    asynchronous: bool,
    script: list[list[tuple[str, dict[str, Any]]]],
) -> None:
    """Without policies, which may ask about any call, and without tools that pause by themselves."""
    ran = Recorder()
    catalog, tools = _registered([replace(one, interrupts=False) for one in drawn], ran)
    rule = ApprovalRule("exempt" if exempt else "unclassified")
    gate = ToolGate(catalog, [Surface("chat", True, *answers)], approval_rule=rule)
    allowed = gate.unattended(_NAMES, surface="chat")
    kept = [[call(name, **args) for name, args in turn if name in allowed] for turn in script]
    talk = chat([says(*turn) for turn in kept if turn], tools, gate=gate, asynchronous=asynchronous)
    talk.say()
    assert talk.requests == []
    assert talk.messages[-1].content == "done"
    offered = gate.filter_offerable(allowed, surface="chat")
    fit = [one for turn in kept for one in turn if one["name"] in offered and one["args"].get("n") != "x"]
    assert sorted(ran.names) == sorted(one["name"] for one in fit)


def test_on_an_attended_surface_the_same_script_does_suspend() -> None:
    """The positive control of the property."""
    ran = Recorder()
    talk = chat([says(call("write", "w"))], [ran.tool("write", PROFILES["write"])])
    talk.say()
    assert len(talk.requests) == 1
    assert ran.names == []
