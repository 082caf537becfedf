"""Screens let a person close a thread without an answer ("mark as resolved"): nothing runs for it, nothing dangles."""

import asyncio
from typing import Any

import pytest
from langgraph.graph import END
from langgraph.types import Command

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def talk(request: pytest.FixtureRequest, ran: Recorder) -> Chat:
    """A conversation in which a call waits for a person, beside one that needs nobody."""
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    look = ran.tool("look", ToolProfile(tier=Tier.READ_ONLY))
    turns = [says(call("send", "s", to="ann"), call("look", "l")), says(text="All right.")]
    talking = chat(turns, [send, look], asynchronous=request.param)
    talking.say()
    return talking


def given(talk: Chat, answer: dict[str, Any]) -> str:
    """What `gate.answer` says to an answer."""
    if not talk.asynchronous:
        return talk.gate.answer(talk.agent, talk.config, answer).status

    async def giving() -> str:
        return (await talk.gate.aanswer(talk.agent, talk.config, answer)).status

    return asyncio.run(giving())


def test_a_thread_that_is_taken_to_its_end_runs_nothing_and_each_call_gets_its_result_with_the_next_words(
    talk: Chat, ran: Recorder
) -> None:
    """langchain-ai/agent-inbox, src/components/agent-inbox/contexts/ThreadContext.tsx (`ignoreThread`), commit
    1141fd0292d65b0a5d88bc2f318dc009d31f217c: the state is updated with nothing, as the graph's end."""
    late = {"type": "approve", "request_id": talk.request.request_id}
    talk.agent.update_state(talk.config, None, as_node=END)
    assert (talk.requests, given(talk, late)) == ([], "not_pending")
    talk.say("something else")
    assert ran.runs == []
    assert [(m.type, getattr(m, "tool_call_id", None)) for m in talk.messages] == [
        ("human", None),
        ("ai", None),
        ("tool", "s"),
        ("tool", "l"),
        ("human", None),
        ("ai", None),
    ]
    assert all("Superseded, not executed" in talk.result(call_id) for call_id in ("s", "l"))
    assert given(talk, late) == "not_pending"
    assert ran.runs == []


@pytest.mark.parametrize("command", [Command(goto=END), Command(goto=END, update=None)], ids=["goto", "goto-null"])
def test_a_command_to_go_to_the_end_answers_nothing_and_the_question_stays(
    talk: Chat, ran: Recorder, command: Command[Any]
) -> None:
    """`handleResolve`: langchain-ai/agent-chat-ui, src/components/thread/agent-inbox/hooks/use-interrupted-actions.tsx,
    commit 2a82ef559f8c7a362b19b106d7fdf80e30fc3669. `markCurrentThreadAsResolved`: langchain-ai/deep-agents-ui,
    src/app/hooks/useChat.ts, commit 0ef05fe38eddcdd048676fc1fbde602e1441e045. LangGraph has no such node to go to."""
    asked = talk.request.request_id
    talk.invoke(command)
    assert (talk.request.request_id, ran.runs) == (asked, [])
    talk.say("something else")
    assert ran.runs == []
    assert [message.tool_call_id for message in talk.results] == ["s", "l"]
    assert "Superseded, not executed" in talk.result("s")


def test_going_on_without_an_answer_stops_at_the_same_question(talk: Chat, ran: Recorder) -> None:
    """langchain-ai/deep-agents-ui, src/app/hooks/useChat.ts (`continueStream`), commit
    0ef05fe38eddcdd048676fc1fbde602e1441e045: the run is resumed with nothing, to stop before the tools."""
    asked = talk.request.request_id
    if talk.asynchronous:
        asyncio.run(talk.agent.ainvoke(None, talk.config, interrupt_before=["tools"]))
    else:
        talk.agent.invoke(None, talk.config, interrupt_before=["tools"])
    assert (talk.request.request_id, ran.runs) == (asked, [])
    talk.answer("reject")
    assert ran.names == ["look"]
    assert "rejected" in talk.result("s")
