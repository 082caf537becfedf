"""Where `from_interrupt_on` is stricter about what is asked, how often, and for how long a yes holds."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from tests.support import Chat, Recorder, ScriptedModel, Turn, call, chat, says
from toolgate_langchain import ToolGateMiddleware
from toolgate_langchain.errors import MissingCheckpointerError

ASKED: dict[str, Any] = {"send": True}
APPROVE = {"type": "approve"}


class _Send(BaseModel):
    to: str


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


def send(ran: Recorder) -> BaseTool:
    return ran.tool("send", schema=_Send)


def gated(ran: Recorder, *script: Turn) -> Chat:
    middleware = ToolGateMiddleware.from_interrupt_on(ASKED)
    talk = chat(script, [send(ran)], gate=middleware.gate, middleware=[middleware])
    talk.say()
    return talk


def theirs(ran: Recorder, *script: Turn, checkpointer: Any = None) -> Any:
    """An agent with LangChain's own middleware."""
    middleware = HumanInTheLoopMiddleware(ASKED)
    return create_agent(
        ScriptedModel(script=list(script)), [send(ran)], middleware=[middleware], checkpointer=checkpointer
    )


CONFIG: Any = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [HumanMessage("go")]}


def test_nobody_is_asked_about_arguments_that_do_not_fit_the_tool(ran: Recorder) -> None:
    turn = says(call("send", "a", to=5))
    own = theirs(Recorder(), turn, checkpointer=InMemorySaver())
    own.invoke(GO, CONFIG)
    assert len(own.get_state(CONFIG).interrupts) == 1
    talk = gated(ran, turn)
    assert (talk.requests, ran.runs) == ([], [])
    assert talk.results[0].status == "error" and "to" in talk.result("a")


def test_nobody_is_asked_about_a_call_of_no_tool(ran: Recorder) -> None:
    talk = gated(ran, says(call("sned", "a", to="ann")))
    assert talk.requests == []
    assert "There is no such tool" in talk.result("a")


def test_one_turn_asks_about_at_most_twenty_calls_and_the_rest_are_refused(ran: Recorder) -> None:
    turn = says(*(call("send", f"c{number}", to=str(number)) for number in range(22)))
    own = theirs(Recorder(), turn, checkpointer=InMemorySaver())
    own.invoke(GO, CONFIG)
    (interrupt,) = own.get_state(CONFIG).interrupts
    assert len(interrupt.value["action_requests"]) == 22
    talk = gated(ran, turn)
    for place in range(1, 21):
        assert (talk.request.position, talk.request.of) == (place, 20)
        talk.answer()
    assert len(ran.runs) == 20
    assert [one.tool_call_id for one in talk.results if one.status == "error"] == ["c20", "c21"]


def test_three_answers_that_cannot_be_used_are_a_rejection(ran: Recorder) -> None:
    talk = gated(ran, says(call("send", "a", to="ann")))
    for _ in range(3):
        assert len(talk.requests) == 1
        talk.resume({"decisions": "yes"})
    assert (talk.requests, ran.runs) == ([], [])
    assert "not executed" in talk.result("a")


def test_an_approval_is_used_once_also_from_an_older_checkpoint(ran: Recorder) -> None:
    turn = says(call("send", "a", to="ann"))
    twice = Recorder()
    own = theirs(twice, turn, checkpointer=InMemorySaver())
    own.invoke(GO, CONFIG)
    own.invoke(Command(resume={"decisions": [APPROVE]}), CONFIG)
    before = next(one for one in own.get_state_history(CONFIG) if "tools" in one.next)
    own.invoke(None, before.config)
    assert twice.count("send") == 2
    talk = gated(ran, turn)
    talk.answer()
    before = next(one for one in talk.agent.get_state_history(talk.config) if "tools" in one.next)
    talk.agent.invoke(None, before.config)
    assert ran.count("send") == 1


def test_without_a_checkpointer_the_first_run_fails_before_the_model_is_called(ran: Recorder) -> None:
    model = ScriptedModel(script=[says(call("send", "a", to="ann"))])
    agent: Any = create_agent(model, [send(ran)], middleware=[ToolGateMiddleware.from_interrupt_on(ASKED)])
    with pytest.raises(MissingCheckpointerError):
        agent.invoke(GO)
    assert (model.seen, ran.runs) == ([], [])
