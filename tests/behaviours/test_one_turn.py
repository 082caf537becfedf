"""One turn of the model: what of it is asked about, what waits, what runs and what the model hears."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from tests.support import Chat, Recorder, ScriptedModel, alone, call, chat, says
from toolgate_langchain import InMemoryLedger, Tier, ToolGate, ToolProfile
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, TURN
from toolgate_langchain.policy.context import RunMemory

ASKED = ToolProfile(tier=Tier.ROUTINE)
UNASKED = ToolProfile(tier=Tier.READ_ONLY)
INTEGER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def offered(talk: Chat) -> set[tuple[str, str]]:
    return {(offer.what, offer.scope) for offer in talk.request.remember}


def heard(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    """What the model is shown as results: the id of each call and the text."""
    return [(one.tool_call_id, str(one.content)) for one in messages if isinstance(one, ToolMessage)]


def test_text_only_passes_through_nothing_asked_nothing_stored(asynchronous: bool) -> None:
    """Text only → passes through, nothing asked, nothing stored."""
    ledger = InMemoryLedger()
    talk = chat(
        [AIMessage("hello")], [Recorder().tool("deploy")], gate=ToolGate(ledger=ledger), asynchronous=asynchronous
    )
    assert talk.say()["messages"][-1].content == "hello"
    assert talk.requests == []
    state = talk.agent.get_state(talk.config).values
    assert RUN in state
    assert TURN not in state
    assert RULES not in state
    assert ledger.memory(state[RUN]["id"]) == RunMemory()
    assert ledger.thread_rules(talk.thread) == ()


def test_of_two_calls_exactly_one_request_is_surfaced_then_the_second(asynchronous: bool) -> None:
    """Two calls that need a person → exactly one request is surfaced; after its answer, the second; no tool has
    run in between; then both outcomes reach the model once."""
    ran = Recorder()
    tools = [ran.tool("deploy", ASKED), ran.tool("restart", ASKED)]
    talk = chat([says(call("deploy", "d"), call("restart", "r"))], tools, asynchronous=asynchronous)
    talk.say()
    assert [(one.tool_name, one.position, one.of) for one in talk.requests] == [("deploy", 1, 2)]
    assert ran.names == []
    talk.answer("approve")
    assert [(one.tool_name, one.position, one.of) for one in talk.requests] == [("restart", 2, 2)]
    assert ran.names == []
    assert len(talk.model.seen) == 1
    talk.answer("reject")
    assert ran.names == ["deploy"]
    assert len(talk.model.seen) == 2
    results = heard(talk.model.seen[1])
    assert [call_id for call_id, _ in results] == ["d", "r"]
    assert results[0][1] == "ran deploy"
    assert "rejected" in results[1][1]


def test_a_call_that_needs_nobody_waits_for_the_answer_to_its_neighbour(asynchronous: bool) -> None:
    """`deploy` needs a person, `list` does not → only `deploy` is asked; `list` does not run before the answer; after
    it both run, each once."""
    ran = Recorder()
    tools = [ran.tool("deploy", ASKED), ran.tool("list", UNASKED)]
    talk = chat([says(call("list"), call("deploy"))], tools, asynchronous=asynchronous)
    talk.say()
    assert (talk.request.tool_name, talk.request.of) == ("deploy", 1)
    assert ran.names == []
    talk.answer("approve")
    assert talk.requests == []
    assert sorted(ran.names) == ["deploy", "list"]


@pytest.mark.parametrize("names", [("one", "two", "three"), ("one", "one", "one")], ids=["three tools", "one tool"])
def test_approve_reject_approve(asynchronous: bool, names: tuple[str, str, str]) -> None:
    """Three calls: approve, reject, approve → the two approved run, the rejected gets its refusal; the thread goes
    on."""
    ran = Recorder()
    calls = [call(name, f"id{n}", n=n) for n, name in enumerate(names)]
    tools = [ran.tool(name, ASKED) for name in dict.fromkeys(names)]
    talk = chat([says(*calls), AIMessage("so be it"), AIMessage("still here")], tools, asynchronous=asynchronous)
    talk.say()
    talk.answer("approve")
    talk.answer("reject", message="not this one")
    result = talk.answer("approve")
    assert sorted(arguments["n"] for _, arguments in ran.runs) == [0, 2]
    assert "not this one" in talk.result("id1")
    assert (talk.result("id0"), talk.result("id2")) == (f"ran {names[0]}", f"ran {names[2]}")
    assert result["messages"][-1].content == "so be it"
    assert talk.say("and now?")["messages"][-1].content == "still here"


def test_remember_tool_clears_the_second_call_of_the_tool(asynchronous: bool) -> None:
    """Approve the first of two same-tool calls with "remember tool" → the second is cleared without a question."""
    ran = Recorder()
    talk = chat(
        [says(call("deploy", n=1), call("deploy", n=2))], [ran.tool("deploy", ASKED)], asynchronous=asynchronous
    )
    talk.say()
    talk.answer("approve", remember="tool")
    assert talk.requests == []
    assert sorted(arguments["n"] for _, arguments in ran.runs) == [1, 2]


def test_remember_arguments_clears_the_same_arguments_and_no_others(asynchronous: bool) -> None:
    """With "remember arguments" and the same arguments → cleared; other arguments → asked."""
    ran = Recorder()
    calls = [
        call("deploy", n=1, where={"a": 1, "b": 2}),
        call("deploy", n=1, where={"b": 2, "a": 1}),
        call("deploy", n=2),
    ]
    talk = chat([says(*calls)], [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
    talk.say()
    talk.answer("approve", remember="arguments")
    assert talk.request.arguments == {"n": 2}
    assert talk.request.position == 3
    talk.answer("reject")
    assert [arguments["n"] for _, arguments in ran.runs] == [1, 1]


def test_an_approval_taken_back_takes_what_it_cleared_back(asynchronous: bool) -> None:
    """What "don't ask again" released is not released once the approval behind it was withdrawn."""
    ran = Recorder()
    tools = [ran.tool("deploy", ASKED), ran.tool("restart", ASKED)]
    turn = says(call("deploy", "a", n=1), call("deploy", "b", n=2), call("restart", "c"))
    talk = chat([turn], tools, asynchronous=asynchronous)
    talk.say()
    first = talk.request.request_id
    talk.answer("approve", remember="tool")
    talk.resume({"type": "reject", "request_id": first})
    assert "taken back" in talk.request.error
    talk.answer("approve")
    assert ran.names == ["restart"]
    assert "rejected" in talk.result("a")
    assert "not executed" in talk.result("b")
    assert talk.agent.get_state(talk.config).values.get(RULES, {"rules": []})["rules"] == []


@pytest.mark.parametrize(
    "bad",
    [call("deploy", "bad", n="many"), call("deploi", "bad", n=1)],
    ids=["invalid arguments", "a tool that does not exist"],
)
def test_a_bad_call_next_to_one_that_needs_a_person(asynchronous: bool, bad: Any) -> None:
    """A call with invalid arguments, or to a tool that does not exist, next to one that needs a person → the bad one
    gets an error result, the good one is asked."""
    ran = Recorder()
    talk = chat(
        [says(bad, call("deploy", "good", n=1))], [ran.tool("deploy", ASKED, schema=INTEGER)], asynchronous=asynchronous
    )
    talk.say()
    assert (talk.request.tool_call_id, talk.request.of) == ("good", 1)
    talk.answer("approve")
    assert ran.runs == [("deploy", {"n": 1})]
    (error,) = [one for one in talk.results if one.tool_call_id == "bad"]
    assert error.status == "error"
    assert "not executed" in str(error.content)


class TestIds:
    """A call without an id, two calls with one id in a turn → fresh ids before the message is saved, and both are
    judged and asked on their own."""

    @pytest.mark.parametrize("given", [(None, None), ("same", "same"), ("", "x")], ids=["none", "repeated", "empty"])
    def test_both_are_judged_and_asked_on_their_own(
        self, asynchronous: bool, given: tuple[str | None, str | None]
    ) -> None:
        ran = Recorder()
        calls = [{"name": "deploy", "args": {"n": n}, "id": one, "type": "tool_call"} for n, one in enumerate(given)]
        turn = AIMessage("", tool_calls=calls)
        talk = chat([turn], [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        (saved,) = [message for message in talk.messages if isinstance(message, AIMessage)]
        ids = [one["id"] for one in saved.tool_calls]
        assert all(ids)
        assert len(set(ids)) == 2
        assert (talk.request.tool_call_id, talk.request.arguments) == (ids[0], {"n": 0})
        talk.answer("reject")
        assert (talk.request.tool_call_id, talk.request.arguments) == (ids[1], {"n": 1})
        talk.answer("approve")
        assert ran.runs == [("deploy", {"n": 1})]
        assert "rejected" in talk.result(str(ids[0]))
        assert talk.result(str(ids[1])) == "ran deploy"

    def test_an_id_of_an_earlier_turn_is_no_answer_to_a_later_one(self, asynchronous: bool) -> None:
        """Never a cross-applied answer: the same call id in the next turn is asked about again."""
        ran = Recorder()
        script = [says(call("deploy", "same", n=1)), says(call("deploy", "same", n=2))]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        first = talk.request.request_id
        talk.answer("approve")
        assert talk.request.request_id != first
        assert talk.request.arguments == {"n": 2}
        talk.answer("reject")
        assert ran.runs == [("deploy", {"n": 1})]

    def test_an_empty_name_gets_an_error_result(self, asynchronous: bool) -> None:
        """An empty name → error result; never a crash."""
        ran = Recorder()
        talk = chat([says(call("", "e"), call("deploy", "d"))], [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        assert talk.request.tool_call_id == "d"
        talk.answer("approve")
        assert ran.names == ["deploy"]
        assert "no such tool" in talk.result("e")

    def test_of_only_invalid_calls_the_model_hears_and_goes_on(self, asynchronous: bool) -> None:
        """Only `invalid_tool_calls` → the model hears of it and goes on."""
        ran = Recorder()
        broken = {"name": "deploy", "args": '{"n": ', "id": "x", "error": None, "type": "invalid_tool_call"}
        script = [AIMessage("", invalid_tool_calls=[broken]), says(call("deploy", n=1)), AIMessage("deployed")]
        talk = chat(script, [ran.tool("deploy", ASKED)], asynchronous=asynchronous)
        talk.say()
        assert heard(talk.model.seen[1])[0][0] == "x"
        assert "could not be read" in heard(talk.model.seen[1])[0][1]
        assert talk.request.arguments == {"n": 1}
        assert talk.answer("approve")["messages"][-1].content == "deployed"
        assert ran.count("deploy") == 1


class Streaming(ScriptedModel):
    """Streams "Wait, " and then its call, but not before somebody has read the text."""

    _read: threading.Event = PrivateAttr(default_factory=threading.Event)

    def _chunks(self) -> Iterator[ChatGenerationChunk]:
        self._seen.append([])
        if len(self._seen) > 1:
            yield ChatGenerationChunk(message=AIMessageChunk(content="done"))
            return
        yield ChatGenerationChunk(message=AIMessageChunk(content="Wait, "))
        assert self._read.wait(timeout=20), "the text before the call was held back"
        part = tool_call_chunk(name="deploy", args="{}", id="d", index=0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        yield from self._chunks()

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        chunks = self._chunks()
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk


@pytest.mark.parametrize("when_needed", [False, True], ids=["every turn", "when needed"])
def test_text_before_the_call_is_kept_and_streamed_at_once(asynchronous: bool, when_needed: bool) -> None:
    """Text before the call in the same message is kept and streamed at once."""
    ran, gate, model = Recorder(), ToolGate(), Streaming()
    tools = [ran.tool("deploy", ASKED)]
    middleware = alone(gate, when_needed=when_needed)
    agent = create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())
    talk = Chat(agent, model, gate, asynchronous=asynchronous)
    streamed: list[tuple[str, Any]] = []

    def read(mode: str, piece: Any) -> None:
        streamed.append((mode, piece))
        if mode == "messages" and piece[0].text == "Wait, ":
            model._read.set()

    def follow(value: Any) -> None:
        modes: Any = ["messages", "updates"]
        for mode, piece in agent.stream(value, talk.config, stream_mode=modes):  # type: ignore[call-overload]
            read(mode, piece)

    async def afollow(value: Any) -> None:
        modes: Any = ["messages", "updates"]
        async for mode, piece in agent.astream(value, talk.config, stream_mode=modes):  # type: ignore[call-overload]
            read(mode, piece)

    given = {"messages": [HumanMessage("go")]}
    asyncio.run(afollow(given)) if asynchronous else follow(given)
    assert next(piece[0].text for mode, piece in streamed if mode == "messages") == "Wait, "
    assert "__interrupt__" in streamed[-1][1]
    assert ran.names == []
    (saved,) = [message for message in talk.messages if isinstance(message, AIMessage)]
    assert saved.text == "Wait, "
    assert talk.request.tool_call_id == "d"
    talk.answer("approve")
    assert ran.names == ["deploy"]
