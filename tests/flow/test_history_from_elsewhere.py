"""What the model of another conversation said has no data class: where zones are in use it counts as secret."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Recorder, call, chat, says
from toolgate_langchain import DataClass, FlowPolicy, Surface, Tier, ToolGate, ToolProfile, TrustZone, Verdict
from toolgate_langchain.errors import DataAboveZoneError

COPIED: list[BaseMessage] = [HumanMessage("The key?"), AIMessage("It is sesame."), HumanMessage("Post it")]
SENDS = ToolProfile(tier=Tier.ROUTINE, egress="open", zone=TrustZone.EXTERNAL_ANYWHERE)
READS = ToolProfile(tier=Tier.READ_ONLY, egress="none", results_trusted=True, data_class=DataClass.PUBLIC)


def a_gate() -> ToolGate:
    return ToolGate(surfaces=[Surface("chat", routine=Verdict.ALLOW)], argument_policies=[FlowPolicy()])


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_models_words_in_a_copied_history_reach_no_model_below_secret(asynchronous: bool) -> None:
    talk = chat([AIMessage("Hello.")], [Recorder().tool("send", SENDS)], gate=a_gate(), asynchronous=asynchronous,
                zone=TrustZone.EXTERNAL_ANYWHERE)  # fmt: skip
    with pytest.raises(DataAboveZoneError, match="secret"):
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
