"""A run that fails after its calls ran: what they gave is not lost, and nothing is run again or asked about again."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from tests.agent.talking import CONSEQUENTIAL, talk
from tests.support import Recorder, Turn, call, says
from toolgate_langchain import ApprovalSession, InMemoryLedger, ToolGate


class Unreachable(Exception):
    """The model's service is away, and not for a moment."""


def away(_: list[BaseMessage]) -> AIMessage:
    raise Unreachable


def test_the_session_of_before_goes_on_with_the_result_of_the_call(ran: Recorder, asynchronous: bool) -> None:
    script: list[Turn] = [says(call("send", "s", to="ann")), away, AIMessage("done")]
    told = talk(script, [ran.tool("send", CONSEQUENTIAL)], ran, asynchronous=asynchronous).say()
    before = told.session
    with pytest.raises(Unreachable):
        told.answer()
    assert told.resume({"type": "approve", "request_id": told.request.request_id}, before).became == "already_answered"
    told.give({"session": before})
    assert (told.done, told.results, told.messages[-1].text) == (True, {"s": "ran send"}, "done")
    assert ran.runs == [("send", {"to": "ann"})]


def test_so_does_a_result_with_turns_behind_it_that_nobody_was_asked_about(ran: Recorder, asynchronous: bool) -> None:
    script: list[Turn] = [
        says(call("send", "a", n=1)),
        says(call("send", "b", n=1)),
        away,
        says(call("send", "c", n=1)),
    ]
    told = talk(script, [ran.tool("send", CONSEQUENTIAL)], ran, asynchronous=asynchronous, thread="t").say()
    before = told.session
    with pytest.raises(Unreachable):
        told.answer(remember="arguments")
    assert ran.count("send") == 2
    told.give({"session": before})
    # What the model says now, not having its lost turn, is another call.
    assert (told.done, told.results, ran.count("send")) == (True, {"a": "ran send", "c": "ran send"}, 3)


@pytest.mark.parametrize("kept", [False, True], ids=["session handed out", "each step kept"])
def test_results_are_forgotten_once_whoever_goes_on_has_them(ran: Recorder, asynchronous: bool, kept: bool) -> None:
    ledger, sessions = InMemoryLedger(), list[ApprovalSession]()
    options: dict[str, Any] = {"keep": sessions.append} if kept else {}
    found: list[Any] = []

    def looks(_: list[BaseMessage]) -> AIMessage:
        found.append(ledger.result(asked))
        return says(call("send", "t", to="bob"))

    told = talk(
        [says(call("send", "s", to="ann")), looks, AIMessage("done")],
        [ran.tool("send", CONSEQUENTIAL)],
        ran,
        asynchronous=asynchronous,
        gate=ToolGate(ledger=ledger),
        **options,
    ).say()
    asked = told.request.request_id
    told.answer()
    assert [one is None for one in found] == [kept]
    assert ledger.result(asked) is None
    asked = told.request.request_id
    told.answer()
    assert (told.done, ledger.result(asked)) == (True, None)
