"""`gate.around([others])`: it finds the form that works among the others, and refuses the place where none would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelResponse, hook_config
from langchain.agents.middleware.model_retry import ModelRetryMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import ConfigurationError

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)

Middleware = AgentMiddleware[Any, Any, Any]
ASKS_IN_THE_LOOP, ASKS_AT_THE_END = "ToolGateMiddleware.after_model", "ToolGateMiddleware.after_agent"


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


def among(
    ran: Recorder,
    *script: Any,
    others: list[Middleware],
    asynchronous: bool,
    beside: str = "",
    gate: ToolGate | None = None,
) -> Chat:
    """An agent behind `gate.around([...])`, with the others inside it, or standing beside the list."""
    gate = gate or ToolGate()
    middleware = {
        "": gate.around(others),
        "before": [*others, *gate.around()],
        "after": [*gate.around(), *others],
        "beside another list": [*gate.around([Counts()]), *others],
    }[beside]
    tools = [ran.tool("read", READ), ran.tool("send", SEND)]
    return chat(script, tools, gate=gate, middleware=middleware, asynchronous=asynchronous)


class Counts(AgentMiddleware[Any, Any, Any]):
    """Stands around the model, where it is in nobody's way."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self.calls += 1
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self.calls += 1
        return await handler(request)


class AfterModel(AgentMiddleware[Any, Any, Any]):
    def after_model(self, state: Any, runtime: Any) -> None:
        return None


class AfterAgent(AgentMiddleware[Any, Any, Any]):
    def after_agent(self, state: Any, runtime: Any) -> None:
        return None


class AfterModelAwaited(AgentMiddleware[Any, Any, Any]):
    async def aafter_model(self, state: Any, runtime: Any) -> None:
        return None


class AfterAgentAwaited(AgentMiddleware[Any, Any, Any]):
    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        return None


IN_THE_WAY = [
    (AfterModel, "AfterModel.after_model", False),
    (AfterModel, "AfterModel.after_model", True),
    (AfterAgent, "AfterAgent.after_agent", False),
    (AfterAgent, "AfterAgent.after_agent", True),
    (AfterModelAwaited, "AfterModelAwaited.after_model", True),
    (AfterAgentAwaited, "AfterAgentAwaited.after_agent", True),
]
"""Middleware with the node that LangChain gives it, and whether it is run asynchronously."""


class TestTheForm:
    def test_alone_it_is_one_middleware_and_two_parts_around_others(self) -> None:
        others: list[Middleware] = [Counts(), AfterModel()]
        assert len(ToolGate().around()) == 1
        assert ToolGate().around(others)[1:-1] == others

    def test_others_around_the_model_leave_it_the_form_that_asks_at_the_end(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        counts = Counts()
        talk = among(ran, says(call("read")), says(call("send", "a")), others=[counts], asynchronous=asynchronous)
        assert ASKS_AT_THE_END in talk.agent.nodes
        assert ASKS_IN_THE_LOOP not in talk.agent.nodes
        talk.say()
        talk.answer()
        assert (ran.names, counts.calls) == (["read", "send"], 3)

    @pytest.mark.parametrize(("kind", "node", "asynchronous"), IN_THE_WAY)
    def test_others_with_a_hook_after_the_model_or_the_agent_make_it_ask_in_the_loop(
        self, ran: Recorder, kind: type[Middleware], node: str, asynchronous: bool
    ) -> None:
        talk = among(ran, says(call("send", "a")), others=[Counts(), kind()], asynchronous=asynchronous)
        assert {node, ASKS_IN_THE_LOOP} <= set(talk.agent.nodes)
        assert ASKS_AT_THE_END not in talk.agent.nodes
        talk.say()
        assert (talk.request.tool_call_id, ran.names) == ("a", [])
        talk.answer()
        assert (ran.names, talk.messages[-1].text) == (["send"], "done")

    @pytest.mark.parametrize("beside", ["before", "after", "beside another list"])
    @pytest.mark.parametrize(("kind", "node", "asynchronous"), IN_THE_WAY)
    def test_such_a_hook_beside_the_list_fails_the_run_before_the_model_is_called(
        self, ran: Recorder, kind: type[Middleware], node: str, asynchronous: bool, beside: str
    ) -> None:
        """The error names the hook and says what to do about it."""
        talk = among(ran, says(call("read")), others=[kind()], beside=beside, asynchronous=asynchronous)
        with pytest.raises(ConfigurationError) as failed:
            talk.say()
        assert (talk.model.seen, ran.names) == ([], [])
        assert str(failed.value).startswith(f"{node} would come between")
        assert "give that middleware to gate.around([...]) as one of the others" in str(failed.value)
        assert "or use ToolGateMiddleware(gate, ...) as the last one of the list" in str(failed.value)

    @pytest.mark.parametrize("beside", ["before", "after"])
    def test_other_middleware_beside_the_list_is_in_nobody_s_way(
        self, ran: Recorder, asynchronous: bool, beside: str
    ) -> None:
        counts = Counts()
        talk = among(ran, says(call("send", "a")), others=[counts], beside=beside, asynchronous=asynchronous)
        talk.say()
        talk.answer()
        assert (ran.names, counts.calls) == (["send"], 2)


# --- jumps ------------------------------------------------------------------------------------------


class JumpsBeforeTheModel(AgentMiddleware[Any, Any, Any]):
    """Jumps once, before the model's second turn."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where, self.turns = where, 0

    @hook_config(can_jump_to=["tools", "end", "model"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        self.turns += 1
        return {"jump_to": self.where} if self.turns == 2 else None


class JumpsAfterTheModel(AgentMiddleware[Any, Any, Any]):
    """Jumps once, after a turn with calls: the gate then asks in the loop."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where, self.jumped = where, False

    @hook_config(can_jump_to=["tools", "end", "model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self.jumped or not state["messages"][-1].tool_calls:
            return None
        self.jumped = True
        return {"jump_to": self.where}


class JumpsWithTheTurn(AgentMiddleware[Any, Any, Any]):
    """Writes a jump of its own with the model's turn."""

    def __init__(self, where: str, name: str = "") -> None:
        super().__init__()
        self.where, self.called = where, name

    def _with_jump(self, answer: ModelResponse[Any]) -> Any:
        calls = [one for message in answer.result if isinstance(message, AIMessage) for one in message.tool_calls]
        if not [one for one in calls if self.called in ("", one["name"])]:
            return answer
        return ExtendedModelResponse(answer, Command(update={"jump_to": self.where}))

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._with_jump(handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._with_jump(await handler(request))


def finish(talk: Chat) -> None:
    """Approve whatever is asked."""
    while talk.requests:
        talk.answer()


def nothing_dangles(talk: Chat) -> bool:
    """Whether each call has exactly one result."""
    calls = [one["id"] for message in talk.messages if isinstance(message, AIMessage) for one in message.tool_calls]
    return sorted(str(one) for one in calls) == sorted(message.tool_call_id for message in talk.results)


class TestJumps:
    @pytest.mark.parametrize("where", ["tools", "end"])
    def test_a_jump_before_the_model_releases_nothing_and_loses_nothing(
        self, ran: Recorder, asynchronous: bool, where: str
    ) -> None:
        script = [says(call("send", "a")), says(call("send", "b"))]
        talk = among(ran, *script, others=[JumpsBeforeTheModel(where)], asynchronous=asynchronous)
        talk.say()
        assert ran.names == []
        finish(talk)
        # To the tools once more is the first call again, which is used up.
        assert ran.count("send") == (1 if where == "end" else 2)
        assert nothing_dangles(talk) or where == "tools"

    def test_a_jump_back_to_the_tools_repeats_no_call_that_has_its_result(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """Not even one that may be repeated: it would get a second result."""
        talk = among(ran, says(call("read", "a")), others=[JumpsBeforeTheModel("tools")], asynchronous=asynchronous)
        talk.say()
        assert (ran.names, nothing_dangles(talk)) == (["read"], True)

    @pytest.mark.parametrize("where", ["tools", "end", "model"])
    def test_a_jump_after_the_model_runs_nothing_that_was_not_asked(
        self, ran: Recorder, asynchronous: bool, where: str
    ) -> None:
        script = [says(call("send", "a")), says(call("send", "b"))]
        talk = among(ran, *script, others=[JumpsAfterTheModel(where)], asynchronous=asynchronous)
        talk.say()
        asked = []
        while talk.requests:
            asked.append(talk.request.tool_call_id)
            assert ran.count("send") == len(asked) - 1
            talk.answer()
        assert ran.count("send") == len(asked)

    @pytest.mark.parametrize("where", ["tools", "end", "model"])
    def test_a_jump_with_a_turn_that_needs_a_person_fails_the_run_and_runs_nothing(
        self, ran: Recorder, asynchronous: bool, where: str
    ) -> None:
        """LangGraph takes one way out of a step; two of them are an error, and no turn is lost unseen."""
        talk = among(ran, says(call("send", "a")), others=[JumpsWithTheTurn(where)], asynchronous=asynchronous)
        with pytest.raises(Exception, match="jump_to"):
            talk.say()
        assert ran.names == []

    def test_a_jump_to_the_tools_with_a_turn_that_needs_nobody_is_taken(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        talk = among(ran, says(call("read", "a")), others=[JumpsWithTheTurn("tools")], asynchronous=asynchronous)
        talk.say()
        assert (ran.names, talk.result("a")) == (["read"], "ran read")

    def test_a_run_that_others_end_with_a_turn_that_needs_nobody_ends_there(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """Whatever was asked about before: only a turn that left the loop to be asked about goes on from the end."""
        script = [says(call("send", "a")), says(call("read", "b"))]
        talk = among(ran, *script, others=[JumpsWithTheTurn("end", "read")], asynchronous=asynchronous)
        talk.say()
        talk.answer()
        assert (ran.names, talk.requests, talk.agent.get_state(talk.config).next) == (["send"], [], ())

    def test_a_turn_that_was_answered_and_takes_the_way_out_again_runs_once(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        talk = among(ran, says(call("send", "a")), others=[Counts()], asynchronous=asynchronous)
        talk.say()
        talk.agent.interrupt_before_nodes = ["tools"]
        talk.answer()
        talk.agent.update_state(talk.config, {"jump_to": "end"}, as_node="model")
        talk.invoke(None)
        assert (ran.names, talk.requests) == ([], [])
        talk.invoke(None)
        assert (ran.names, talk.result("a")) == (["send"], "ran send")

    def test_a_turn_written_into_the_state_without_the_way_out_is_refused_and_asked_about_when_proposed_again(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        again = says(call("send", "b", to="eve"))
        talk = among(ran, says(call("send", "a", to="ann")), again, others=[Counts()], asynchronous=asynchronous)
        talk.say()
        written = AIMessage("", id=talk.messages[-1].id, tool_calls=[call("send", "a", to="eve")])
        talk.agent.update_state(talk.config, {"messages": [written]}, as_node="model")
        talk.invoke(None)
        assert ran.names == []
        assert "no longer the same" in talk.result("a")
        assert (talk.request.tool_call_id, talk.request.arguments) == ("b", {"to": "eve"})
        assert any("refused as changed" in one for one in (*talk.request.warnings, *talk.request.notes))
        talk.answer()
        assert ran.runs == [("send", {"to": "eve"})]

    def test_calls_written_into_the_state_with_the_way_out_are_asked_about_and_none_dangles(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """Also calls with other ids, and of tools that nobody knows."""
        talk = among(ran, says(call("send", "a", to="ann")), others=[Counts()], asynchronous=asynchronous)
        talk.say()
        calls = [call("send", "x", to="eve"), call("unknown", "y"), call("read", "z")]
        written = AIMessage("", id=talk.messages[-1].id, tool_calls=calls)
        talk.agent.update_state(talk.config, {"messages": [written], "jump_to": "end"}, as_node="model")
        talk.invoke(None)
        assert (talk.request.tool_call_id, ran.names) == ("x", [])
        talk.answer()
        assert sorted(ran.names) == ["read", "send"]
        assert nothing_dangles(talk)


# --- what others make of the model's turn ---------------------------------------------------------------


class Makes(AgentMiddleware[Any, Any, Any]):
    """Makes another answer of the model's."""

    def __init__(self, make: Callable[[AIMessage], list[Any]]) -> None:
        super().__init__()
        self.make = make

    def _made(self, answer: ModelResponse[Any]) -> Any:
        message = answer.result[-1]
        if not isinstance(message, AIMessage) or not message.tool_calls:
            return answer
        return ModelResponse(result=self.make(message))

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._made(handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._made(await handler(request))


def replaced(message: AIMessage) -> list[Any]:
    return [message.model_copy(update={"tool_calls": [call("send", "b", to="eve")]})]


def twice(message: AIMessage) -> list[Any]:
    return [message.model_copy(update={"tool_calls": [*message.tool_calls, *message.tool_calls]})]


def repeated(message: AIMessage) -> list[Any]:
    return [message, message.model_copy(update={"id": "again"})]


def with_words(message: AIMessage) -> list[Any]:
    return [AIMessage("thinking"), message]


class TestWhatOthersMakeOfATurn:
    def test_a_turn_put_in_place_of_a_harmless_one_is_asked_about(self, ran: Recorder, asynchronous: bool) -> None:
        talk = among(ran, says(call("read", "a")), others=[Makes(replaced)], asynchronous=asynchronous)
        talk.say()
        assert (talk.request.tool_call_id, talk.request.arguments, ran.names) == ("b", {"to": "eve"}, [])
        talk.answer()
        assert ran.runs == [("send", {"to": "eve"})]

    def test_a_call_that_is_doubled_in_its_turn_is_asked_about_twice(self, ran: Recorder, asynchronous: bool) -> None:
        talk = among(ran, says(call("send", "a")), others=[Makes(twice)], asynchronous=asynchronous)
        talk.say()
        first = talk.request.request_id
        talk.answer()
        assert talk.request.request_id != first
        assert ran.names == []
        talk.answer("reject")
        assert ran.names == ["send"]
        assert nothing_dangles(talk)

    @pytest.mark.parametrize("make", [repeated, with_words], ids=["repeated", "with words before it"])
    def test_of_several_messages_the_last_one_s_calls_run_and_only_when_answered(
        self, ran: Recorder, asynchronous: bool, make: Callable[[AIMessage], list[Any]]
    ) -> None:
        talk = among(ran, says(call("send", "a")), others=[Makes(make)], asynchronous=asynchronous)
        talk.say()
        assert (talk.request.tool_call_id, ran.names) == ("a", [])
        talk.answer()
        assert ran.names == ["send"]

    def test_a_model_that_is_asked_again_is_judged_by_its_last_words(self, ran: Recorder, asynchronous: bool) -> None:
        def fails(_: Any) -> AIMessage:
            raise TimeoutError("the model did not answer")

        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
        talk = among(ran, fails, says(call("send", "a")), others=[retry], asynchronous=asynchronous)
        talk.say()
        talk.answer()
        assert (ran.names, len(talk.model.seen)) == (["send"], 3)

    def test_the_pause_shows_in_a_stream_of_updates(self, ran: Recorder, asynchronous: bool) -> None:
        talk = among(ran, says(call("send", "a")), others=[Counts()], asynchronous=asynchronous)
        given = {"messages": [HumanMessage("go")]}

        async def stream() -> list[Any]:
            return [one async for one in talk.agent.astream(given, talk.config, stream_mode="updates")]

        if asynchronous:
            updates = asyncio.run(stream())
        else:
            updates = list(talk.agent.stream(given, talk.config, stream_mode="updates"))
        (pause,) = updates[-1]["__interrupt__"]
        assert pause.value["tool_call_id"] == "a"
        assert not any(isinstance(message, ToolMessage) for message in talk.messages)
