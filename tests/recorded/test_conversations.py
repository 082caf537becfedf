"""What a real model said, through the gate: tools, arguments, ids that link, and what ran. Never its prose."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from vcr.serializers import yamlserializer

from tests.recorded.conversations import (
    CONVERSATIONS,
    PLAIN,
    REJECTED,
    SEVERAL_TURNS,
    STREAMED,
    Conversation,
    Telling,
    Told,
)
from toolgate_langchain import Tier
from toolgate_langchain.ui.cassettes import cassette, replay

Tell = Callable[[Conversation], Awaitable[Told]]

SENTENCE = "Revenue rose by 4 percent."


@pytest.fixture(params=["sync", "async"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Drive one conversation on its cassette, both ways."""

    async def told(conversation: Conversation) -> Told:
        with replay(cassette(conversation.name)):
            telling = Telling(conversation, tmp_path)
            return telling.tell() if request.param == "sync" else await telling.atell()

    return told


def sent(conversation: Conversation) -> list[dict[str, Any]]:
    """The bodies of the requests on a cassette."""
    recorded = yamlserializer.deserialize(cassette(conversation.name).read_text(encoding="utf-8"))
    return [json.loads(one["request"]["body"]) for one in recorded["interactions"]]


async def test_plain_a_read_only_call_runs_unasked_and_its_result_reaches_the_model(tell: Tell) -> None:
    told = await tell(PLAIN)
    assert [(call["name"], call["args"]) for call in told.calls] == [("read_file", {"name": "report.txt"})]
    assert told.requests == []
    assert told.decided == [("read_file", "not_required")]
    assert SENTENCE in str(told.results[0].content)


async def test_several_turns_each_with_its_call_and_the_earlier_result_in_the_e_mail(tell: Tell) -> None:
    told = await tell(SEVERAL_TURNS)
    assert [name for name, _ in told.ran] == ["get_weather", "send_email", "delete_note"]
    assert told.ran[0][1] == {"city": "Paris"}
    email = told.ran[1][1]
    assert (email["to"], email["subject"]) == ("ann@example.com", "Weather")
    assert "21 degrees" in email["body"]
    assert told.ran[2][1] == {"title": "old-plans"}
    assert [(request.tool_name, request.tier) for request in told.requests] == [
        ("send_email", Tier.CONSEQUENTIAL.value),
        ("delete_note", Tier.CONSEQUENTIAL.value),
    ]
    assert [request.arguments for request in told.requests] == [args for _, args in told.ran[1:]]


async def test_rejected_nothing_runs_the_model_hears_the_reason_and_does_not_try_again(tell: Tell) -> None:
    told = await tell(REJECTED)
    assert [(call["name"], call["args"]) for call in told.calls] == [("delete_file", {"name": "draft.txt"})]
    assert (told.folder / "draft.txt").exists()
    assert told.decided == [("delete_file", "rejected")]
    answered = sent(REJECTED)[-1]["messages"][-1]
    assert answered["role"] == "tool"
    assert "Ann still needs this file." in answered["content"]
    last = told.messages[-1]
    assert isinstance(last, AIMessage) and last.text and not last.tool_calls


async def test_streamed_pieces_come_before_the_question_and_make_up_the_call_that_is_asked_about(tell: Tell) -> None:
    told = await tell(STREAMED)
    asked = next(i for i, (mode, chunk) in enumerate(told.chunks) if mode == "updates" and "__interrupt__" in chunk)
    pieces = [chunk[0] for mode, chunk in told.chunks[:asked] if mode == "messages"]
    assert len(pieces) > 2 and all(isinstance(piece, AIMessageChunk) for piece in pieces)
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    (call,) = whole.tool_calls
    (request,) = told.requests
    assert (request.tool_call_id, request.arguments) == (call["id"], call["args"])
    # Nothing ran before the answer; the one result came after it.
    tools = [i for i, (mode, chunk) in enumerate(told.chunks) if mode == "updates" and "tools" in chunk]
    assert len(tools) == 1 and tools[0] > asked
    assert (told.folder / "summary.txt").read_text(encoding="utf-8") == SENTENCE


async def test_streamed_an_answer_of_the_model_comes_in_pieces_as_well(tell: Tell) -> None:
    told = await tell(STREAMED)
    last = told.messages[-1]
    pieces = [chunk[0].text for mode, chunk in told.chunks if mode == "messages" and chunk[0].id == last.id]
    assert len([piece for piece in pieces if piece]) > 2
    assert "".join(pieces) == last.text


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one.name)
async def test_every_call_has_exactly_one_result_right_after_the_turn_that_made_it(
    conversation: Conversation, tell: Tell
) -> None:
    told = await tell(conversation)
    assert told.calls
    assert [call["id"] for call in told.calls] == [result.tool_call_id for result in told.results]
    assert len({call["id"] for call in told.calls}) == len(told.calls)
    for before, after in zip(told.messages, told.messages[1:], strict=False):
        if isinstance(before, AIMessage) and before.tool_calls:
            assert getattr(after, "tool_call_id", None) == before.tool_calls[0]["id"]


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda one: one.name)
def test_the_model_was_shown_the_ids_that_it_gave(conversation: Conversation) -> None:
    messages = sent(conversation)[-1]["messages"]
    given = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert given and given == answered
