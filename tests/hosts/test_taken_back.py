"""An approval that is taken back after its turn was settled, and before the call starts."""

from __future__ import annotations

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile

SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


def test_an_approval_taken_back_before_the_call_starts_leaves_no_rule_behind() -> None:
    ran = Recorder()
    script = [says(call("send", "a", to="ann")), says(text="fine"), says(call("send", "b", to="ann"))]
    talk = chat(script, [ran.tool("send", SEND)], agent={"interrupt_before": ["tools"]})
    talk.say()
    request = talk.request
    talk.answer("approve", remember="arguments")
    taken = talk.gate.answer(talk.agent, talk.config, {"type": "reject", "request_id": request.request_id})
    assert taken.status == "withdrawn"
    talk.agent.invoke(None, talk.config)
    assert ran.names == []
    talk.say("again")
    assert talk.request.arguments == {"to": "ann"}


def test_a_rule_whose_approval_stands_is_used_in_the_same_place() -> None:
    ran = Recorder()
    script = [says(call("send", "a", to="ann")), says(text="fine"), says(call("send", "b", to="ann"))]
    talk = chat(script, [ran.tool("send", SEND)], agent={"interrupt_before": ["tools"]})
    talk.say()
    talk.answer("approve", remember="arguments")
    talk.agent.invoke(None, talk.config)
    assert ran.names == ["send"]
    talk.say("again")
    assert talk.requests == []
    talk.agent.invoke(None, talk.config)
    assert ran.names == ["send", "send"]
