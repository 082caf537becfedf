"""A fork made with `update_state`: a used grant is not used again, and the call is asked, not run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from tests.support import Chat, Recorder, Turn, call, chat, says
from toolgate_langchain import Tier, ToolProfile

SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
Start = Callable[..., Chat]


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def start(request: pytest.FixtureRequest, ran: Recorder) -> Start:
    """Begin a conversation whose first turn is asked about."""

    def starts(*script: Turn) -> Chat:
        talk = chat(script, [ran.tool("send", SEND)], asynchronous=bool(request.param))
        talk.say()
        return talk

    return starts


def go_on(talk: Chat, config: Any) -> None:
    """Go on from a checkpoint that was just written."""
    asyncio.run(talk.agent.ainvoke(None, config)) if talk.asynchronous else talk.agent.invoke(None, config)


def test_a_fork_of_the_pause_is_asked_and_uses_no_grant_again(start: Start, ran: Recorder) -> None:
    talk = start(says(call("send", "s", to="ann")))
    paused = talk.agent.get_state(talk.config).config
    talk.answer()
    assert ran.runs == [("send", {"to": "ann"})]
    go_on(talk, talk.agent.update_state(paused, talk.way_out or None, as_node="model"))
    assert (talk.request.tool_call_id, ran.count("send")) == ("s", 1)
    talk.answer()
    assert ran.count("send") == 1
    assert "outcome is unknown" in talk.result("s")


def test_a_fork_before_any_answer_is_asked_and_runs_once_it_is_approved(start: Start, ran: Recorder) -> None:
    """The positive control."""
    talk = start(says(call("send", "s", to="ann")))
    paused = talk.agent.get_state(talk.config).config
    go_on(talk, talk.agent.update_state(paused, talk.way_out or None, as_node="model"))
    assert ran.runs == []
    talk.answer()
    assert (ran.runs, talk.result("s")) == ([("send", {"to": "ann"})], "ran send")


def test_a_fork_of_the_pause_in_which_the_call_was_changed_is_asked_about_as_it_is(start: Start, ran: Recorder) -> None:
    talk = start(says(call("send", "s", to="ann")))
    paused, asked = talk.agent.get_state(talk.config), talk.request.request_id
    talk.answer()
    changed = AIMessage("", id=paused.values["messages"][-1].id, tool_calls=[call("send", "s", to="eve")])
    go_on(talk, talk.agent.update_state(paused.config, {"messages": [changed], **talk.way_out}, as_node="model"))
    assert (talk.request.arguments, talk.request.request_id != asked, ran.count("send")) == ({"to": "eve"}, True, 1)


@pytest.mark.parametrize("call_id", ["s", "another"])
def test_an_approved_call_written_into_the_history_once_more_does_not_run_without_a_person(
    start: Start, ran: Recorder, call_id: str
) -> None:
    """Where the agent asks in its loop it is asked; where it asks at its end the last step refuses the call, which
    never asks, and it is asked when the model proposes it again."""
    talk = start(says(call("send", "s", to="ann")), AIMessage("done"), says(call("send", "again", to="ann")))
    talk.answer()
    written = AIMessage("", id="fork", tool_calls=[call("send", call_id, to="ann")])
    go_on(talk, talk.agent.update_state(talk.config, {"messages": [written]}, as_node="model"))
    assert ran.count("send") == 1
    assert talk.request.arguments == {"to": "ann"}
    assert talk.request.tool_call_id == (call_id if "after_model" in talk.before_tools else "again")
    talk.answer()
    assert ran.count("send") == 2
