"""Surface, caller, configuration and zone: offered, enforced, saved with the run."""

import logging
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool

from tests.agent.talking import CONSEQUENTIAL, READ, ROUTINE, talk
from tests.support import Recorder, call, says, with_profile
from toolgate_langchain import Caller, DataClass, RunConfiguration, Surface, ToolGate, ToolProfile, TrustZone, Verdict
from toolgate_langchain.errors import ConfigurationError


def test_an_unattended_surface_offers_what_never_pauses_and_never_waits(
    ran: Recorder, asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tools = [ran.tool("list", READ), ran.tool("save", ROUTINE), ran.tool("deploy", CONSEQUENTIAL)]
    turn = says(call("list", "a"), call("save", "b"), call("deploy", "c"))
    with caplog.at_level(logging.WARNING):
        told = talk([turn], tools, ran, asynchronous=asynchronous, surface="cron").say()
    assert told.model.offered == [["list"]]
    assert told.done and ran.names == ["list"]
    assert "was not executed" in told.results["b"] and "was not executed" in told.results["c"]
    assert "refused 'deploy' on surface 'cron'" in caplog.text


def test_settings_may_be_functions_of_the_config(ran: Recorder, asynchronous: bool) -> None:
    def surface(config: RunnableConfig) -> str:
        return str(config["configurable"]["from"])

    def caller(config: RunnableConfig) -> Caller:
        return Caller(id=config["configurable"]["user"])

    tools = [ran.tool("save", ROUTINE)]
    told = talk([says(call("save", "a"))], tools, ran, asynchronous=asynchronous, surface=surface, caller=caller)
    told.config = {"configurable": {"from": "cli", "user": "ann"}}
    told.say()
    assert (told.request.surface, told.request.caller) == ("cli", "ann")


def test_whoever_resumes_does_not_lend_rights(ran: Recorder, asynchronous: bool) -> None:
    def caller(config: RunnableConfig) -> Caller | None:
        return (config.get("configurable") or {}).get("caller")

    purge = ran.tool("purge", ToolProfile(admin_only=True))
    turns = [says(call("save", "a")), says(call("purge", "b"))]
    told = talk(turns, [purge, ran.tool("save", ROUTINE)], ran, asynchronous=asynchronous, caller=caller).say()
    assert told.model.offered == [["save"]]
    told.config = {"configurable": {"caller": Caller(id="root", admin=True)}}
    told.answer()
    assert told.done and ran.names == ["save"] and "was not executed" in told.results["b"]


def test_a_configuration_tightened_during_the_pause_holds(ran: Recorder, asynchronous: bool) -> None:
    allowed: list[str] = ["save"]

    def configuration(_: Any) -> RunConfiguration:
        return RunConfiguration(tools=tuple(allowed))

    tools = [ran.tool("save", ROUTINE)]
    told = talk([says(call("save", "a"))], tools, ran, asynchronous=asynchronous, configuration=configuration).say()
    allowed.clear()
    told.answer()
    assert told.done and ran.runs == [] and "was not executed" in told.results["a"]


def test_the_tools_are_a_request_and_the_configuration_the_grant(ran: Recorder, asynchronous: bool) -> None:
    tools = [ran.tool("list", READ), ran.tool("look", READ), ran.tool("read", READ)]
    configuration = RunConfiguration(tools=("read", "list", "unknown"))
    turn = says(call("look", "a"), call("list", "b"))
    told = talk([turn], tools, ran, asynchronous=asynchronous, configuration=configuration).say()
    assert told.model.offered == [["read", "list"]]
    assert ran.names == ["list"] and "was not executed" in told.results["a"]


def test_a_zone_keeps_from_the_model_what_is_above_its_ceiling(ran: Recorder, asynchronous: bool) -> None:
    secret = ran.tool("secrets", ToolProfile(tier=READ.tier, data_class=DataClass.SECRET))
    public = ran.tool("news", ToolProfile(tier=READ.tier, data_class=DataClass.PUBLIC))
    told = talk([], [secret, public], ran, asynchronous=asynchronous, zone=TrustZone.EXTERNAL_ANYWHERE).say()
    assert told.model.offered == [["news"]]


def test_where_nothing_is_offered_the_model_is_given_no_tools(ran: Recorder, asynchronous: bool) -> None:
    told = talk([], [ran.tool("save", ROUTINE)], ran, asynchronous=asynchronous, surface="cron").say()
    assert told.model.offered == [] and told.messages[-1].text == "done"


def test_settings_that_the_gate_does_not_know_fail_when_built(ran: Recorder) -> None:
    unknown: list[dict[str, Any]] = [{"surface": "fax"}, {"caller": "ann"}, {"configuration": []}, {"zone": "moon"}]
    for options in unknown:
        with pytest.raises(ConfigurationError):
            talk([], [], ran, asynchronous=False, **options)


def test_the_switch_stops_an_approved_call(ran: Recorder, asynchronous: bool) -> None:
    told = talk([says(call("save", "a"))], [ran.tool("save", ROUTINE)], ran, asynchronous=asynchronous).say()
    told.agent.gate.ledger.stop()  # type: ignore[attr-defined]  # the ledger in memory has the switch
    told.answer()
    assert told.done and ran.runs == [] and "was not executed" in told.results["a"]


def test_a_surface_of_ones_own(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate(surfaces=[Surface("phone", routine=Verdict.ALLOW)])
    tools = [ran.tool("save", ROUTINE)]
    told = talk([says(call("save", "a"))], tools, ran, asynchronous=asynchronous, gate=gate, surface="phone").say()
    assert told.done and ran.names == ["save"]


def test_whoever_listens_hears_of_every_call_once(ran: Recorder, asynchronous: bool) -> None:
    heard: list[tuple[str, str]] = []
    gate = ToolGate(on_decision=lambda outcome: heard.append((outcome.call_id, outcome.code)))
    turn = says(call("list", "a"), call("save", "b"), call("nothing", "c"))
    tools = [ran.tool("list", READ), ran.tool("save", ROUTINE)]
    talk([turn], tools, ran, asynchronous=asynchronous, gate=gate).say().answer()
    assert sorted(heard) == [("a", "not_required"), ("b", "approved"), ("c", "unknown_tool")]


def test_a_session_does_not_go_on_inside_of_a_tool_that_another_gate_let_run(ran: Recorder, asynchronous: bool) -> None:
    """What was denied or said behind that gate would not hold for it."""
    tools = [ran.tool("list", READ), ran.tool("deploy", CONSEQUENTIAL)]
    inner = talk([says(call("deploy", "a"))], tools, ran, asynchronous=False, name="inner").say()

    @tool
    def helper() -> str:
        """Help."""
        return str(inner.answer().messages[-1].content)

    # Not even where agents without the gate are accepted in the tool: this one has a gate, and it is not this one.
    accepted = with_profile(helper, replace(READ, ungated_agents=True))
    outer = talk([says(call("helper", "h"))], [accepted], ran, asynchronous=asynchronous)
    with pytest.raises(ConfigurationError, match="behind another gate"):
        outer.say()
    assert ran.runs == []
