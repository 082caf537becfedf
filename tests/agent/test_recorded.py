"""What a real model said, through a `GatedAgent`: the recorded conversations of the other host, word for word."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from tests.recorded.conversations import PLAIN, REJECTED, SEVERAL_TURNS, Conversation, Told, everyday_tools
from toolgate_langchain import GatedAgent, ToolGate
from toolgate_langchain.ui.cassettes import RECORDED_BASE_URL, cassette, chat_model, replay
from toolgate_langchain.ui.demo import file_tools, prepare_folder


async def tell(conversation: Conversation, folder: Path, asynchronous: bool) -> Told:
    """Drive a recorded conversation to its end. A request that differs in a word is not on the cassette."""
    prepare_folder(folder)
    told, answers = Told(folder), iter(conversation.answers)
    tools = everyday_tools(told) if conversation is SEVERAL_TURNS else file_tools(folder)
    agent = GatedAgent(chat_model(RECORDED_BASE_URL), tools, ToolGate(on_decision=told.outcomes.append))
    session: Any = None
    with replay(cassette(conversation.name)):
        for text in conversation.turns:
            given: dict[str, Any] = {"messages": text, "session": session}
            output = await agent.ainvoke(given) if asynchronous else agent.invoke(given)
            while (request := output["request"]) is not None:
                told.requests.append(request)
                answer = {**next(answers), "request_id": request.request_id}
                output = (
                    await agent.aresume(output["session"], answer)
                    if asynchronous
                    else agent.resume(output["session"], answer)
                )
            session, told.messages = output["session"], output["messages"]
    return told


async def test_several_turns_each_with_its_call_and_the_earlier_result_in_the_e_mail(
    tmp_path: Path, asynchronous: bool
) -> None:
    told = await tell(SEVERAL_TURNS, tmp_path, asynchronous)
    assert [name for name, _ in told.ran] == ["get_weather", "send_email", "delete_note"]
    assert [request.tool_name for request in told.requests] == ["send_email", "delete_note"]
    assert [request.arguments for request in told.requests] == [args for _, args in told.ran[1:]]
    assert told.decided == [("get_weather", "not_required"), ("send_email", "approved"), ("delete_note", "approved")]


async def test_rejected_nothing_runs_and_the_model_hears_the_reason(tmp_path: Path, asynchronous: bool) -> None:
    told = await tell(REJECTED, tmp_path, asynchronous)
    assert (tmp_path / "draft.txt").exists() and told.decided == [("delete_file", "rejected")]
    last = told.messages[-1]
    assert isinstance(last, AIMessage) and last.text and not last.tool_calls


@pytest.mark.parametrize("conversation", [PLAIN, SEVERAL_TURNS, REJECTED], ids=lambda one: one.name)
async def test_every_call_has_exactly_one_result_right_after_its_turn(
    tmp_path: Path, asynchronous: bool, conversation: Conversation
) -> None:
    told = await tell(conversation, tmp_path, asynchronous)
    assert told.calls and [call["id"] for call in told.calls] == [one.tool_call_id for one in told.results]
    for before, after in zip(told.messages, told.messages[1:], strict=False):
        if isinstance(before, AIMessage) and before.tool_calls:
            assert isinstance(after, ToolMessage) and after.tool_call_id == before.tool_calls[0]["id"]
