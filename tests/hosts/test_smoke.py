"""The gate in a real agent, from one end to the other."""

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile


def test_a_read_only_call_runs_and_a_consequential_one_waits_for_its_answer() -> None:
    ran = Recorder()
    tools = [ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)), ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))]
    talk = chat([says(call("read", "r")), says(call("send", "s", to="ann"))], tools)
    talk.say()
    assert ran.names == ["read"]
    assert talk.request.arguments == {"to": "ann"}
    talk.answer("approve")
    assert ran.runs == [("read", {}), ("send", {"to": "ann"})]
    assert talk.result("s") == "ran send"
