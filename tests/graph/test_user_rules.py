"""What a user said in all conversations, in hand-written graphs and across hosts."""

from typing import Any

from langchain_core.messages import AIMessage

from tests.agent.talking import talk
from tests.graph.conftest import ROUTINE
from tests.graph.support import graph_chat
from tests.support import Recorder, call, says
from toolgate_langchain import Caller, ToolGate

EVERYWHERE = {"what": "arguments", "scope": "user"}


def test_it_reaches_the_users_other_threads_until_it_is_revoked(how: dict[str, Any]) -> None:
    ran, gate = Recorder(), ToolGate()

    def asked(thread: str, caller: str = "ann", **answer: Any) -> bool:
        tools, script = [ran.tool("save", ROUTINE)], [says(call("save", n=1)), AIMessage("ok")]
        chat = graph_chat(script, tools, gate=gate, thread=thread, caller=Caller(caller), **how)
        chat.say()
        waits = bool(chat.requests)
        if answer:
            chat.answer(**answer)
        return waits

    assert asked("first", remember=EVERYWHERE)
    assert (asked("second"), asked("third", "ben")) == (False, True)
    gate.revoke(gate.rules("ann")[0])
    assert asked("fourth")
    assert ran.count("save") == 2


def test_what_was_said_to_one_host_holds_for_another(how: dict[str, Any]) -> None:
    """The same tool, on the same surface, for the same user: the ledger does not tell hosts apart."""
    ran, gate = Recorder(), ToolGate()
    tools, script = [ran.tool("save", ROUTINE)], [says(call("save", n=1)), AIMessage("ok")]
    chat = graph_chat(script, tools, gate=gate, caller=Caller("ann"), **how)
    chat.say()
    chat.answer(remember=EVERYWHERE)
    asynchronous = bool(how["asynchronous"])
    other = talk(script, tools, ran, asynchronous=asynchronous, gate=gate, caller=Caller("ann"), thread="another").say()
    assert (other.done, ran.count("save")) == (True, 2)
