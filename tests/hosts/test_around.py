"""`gate.around()` asks where the agent would end: only for turns that need a person, in the words of the other form."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import BaseModel

from tests.hosts.around_agents import GO, READ, SEND, around, tools_of
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Surface, ToolCatalog, ToolGate, ToolGateMiddleware


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


def directly(made: BaseTool) -> BaseTool:
    """The tool, whose result ends the run."""
    return made.model_copy(update={"return_direct": True})


def steps(talk: Chat, given: Any) -> list[str]:
    """The nodes of a run, in order, as a stream of updates shows them."""

    async def stream() -> list[str]:
        return [
            name async for update in talk.agent.astream(given, talk.config, stream_mode="updates") for name in update
        ]

    if talk.asynchronous:
        return asyncio.run(stream())
    return [name for update in talk.agent.stream(given, talk.config, stream_mode="updates") for name in update]


START_OF_RUN, END_OF_RUN = "ToolGateMiddleware.before_agent", "ToolGateMiddleware.after_agent"


class EndsTheSecondRun(AgentMiddleware[Any, Any, Any]):
    """Ends every run but the first before anything else happens, and says nothing."""

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        words = [message for message in state["messages"] if isinstance(message, HumanMessage)]
        return {"jump_to": "end"} if len(words) > 1 else None


class TestTheWayOut:
    def test_turns_that_need_nobody_take_no_step_of_the_gate(self, ran: Recorder, asynchronous: bool) -> None:
        talk = around(ran, says(call("read")), says(call("read"), call("read")), asynchronous=asynchronous)
        loop = ["model", "tools", "model", "tools", "tools", "model"]
        assert steps(talk, GO) == [START_OF_RUN, *loop, END_OF_RUN]

    def test_a_turn_that_needs_a_person_pauses_at_the_end_and_goes_on_to_its_tools(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        talk = around(ran, says(call("send", "a")), asynchronous=asynchronous)
        assert steps(talk, GO) == [START_OF_RUN, "model", "__interrupt__"]
        assert talk.request.tool_name == "send"
        answer: Command[Any] = Command(resume={"type": "approve", "request_id": talk.request.request_id})
        assert steps(talk, answer) == [END_OF_RUN, "tools", "model", END_OF_RUN]
        assert talk.result("a") == "ran send"
        assert talk.agent.get_state(talk.config).next == ()

    def test_there_is_no_step_at_all_where_nothing_can_be_asked(self, ran: Recorder, asynchronous: bool) -> None:
        read = ran.tool("read", READ)
        gate = ToolGate(ToolCatalog.from_tools([read], closed=True))
        talk = around(ran, says(call("read")), tools=[read], gate=gate, asynchronous=asynchronous)
        assert steps(talk, GO) == [START_OF_RUN, "model", "tools", "model"]

    def test_where_nobody_is_there_nothing_pauses(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate(surfaces=[Surface("chat", attended=False)])
        talk = around(ran, says(call("send", "a"), call("read", "b")), gate=gate, asynchronous=asynchronous)
        talk.say()
        assert ran.names == ["read"]
        assert "not executed" in talk.result("a")

    def test_a_turn_that_was_asked_about_does_not_keep_later_turns_or_the_end(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """What is saved of it stays in the state, and is not taken for the turn at hand."""
        talk = around(ran, says(call("send", "a")), says(call("read", "b")), asynchronous=asynchronous)
        talk.say()
        talk.answer()
        assert talk.agent.get_state(talk.config).values["toolgate_turn"]["settled"]
        assert (ran.names, talk.requests, talk.messages[-1].text) == (["send", "read"], [], "done")


class TestAsking:
    def test_the_calls_of_a_turn_are_asked_about_one_at_a_time_and_none_runs_before_all_are_answered(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        turn = says(call("send", "a", n=1), call("read", "b"), call("write", "c"), call("send", "d", n=2))
        talk = around(ran, turn, asynchronous=asynchronous)
        talk.say()
        for call_id in ("a", "c", "d"):
            assert (talk.request.tool_call_id, ran.names) == (call_id, [])
            talk.answer("reject" if call_id == "c" else "approve")
        assert sorted(ran.names) == ["read", "send", "send"]
        assert [message.tool_call_id for message in talk.results] == ["a", "b", "c", "d"]
        assert "rejected" in talk.result("c")

    @pytest.mark.parametrize(
        ("answer", "runs", "told"),
        [
            ({"kind": "approve"}, [("send", {"to": "ann"})], "ran send"),
            ({"kind": "reject", "message": "not now"}, [], "not now"),
            ({"kind": "respond", "message": "said already"}, [], "said already"),
            (
                {"kind": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}},
                [("send", {"to": "bob"})],
                "ran send",
            ),
        ],
        ids=["approve", "reject", "respond", "edit"],
    )
    def test_each_answer_means_what_it_means_elsewhere(
        self, ran: Recorder, asynchronous: bool, answer: dict[str, Any], runs: list[Any], told: str
    ) -> None:
        talk = around(ran, says(call("send", "a", to="ann")), asynchronous=asynchronous)
        talk.say()
        talk.answer(**answer)
        assert ran.runs == runs
        assert told in talk.result("a")
        assert talk.messages[-1].text == "done"

    def test_a_wrong_answer_is_asked_again(self, ran: Recorder, asynchronous: bool) -> None:
        talk = around(ran, says(call("send", "a")), asynchronous=asynchronous)
        talk.say()
        talk.resume({"type": "perhaps", "request_id": talk.request.request_id})
        assert (talk.request.tool_call_id, ran.names) == ("a", [])
        talk.answer()
        assert ran.names == ["send"]

    def test_what_a_person_does_not_want_to_be_asked_again_is_not(self, ran: Recorder, asynchronous: bool) -> None:
        turns = [says(call("send", to="ann")), says(call("send", to="ann")), says(call("send", to="eve"))]
        talk = around(ran, *turns, asynchronous=asynchronous)
        talk.say()
        talk.answer(remember="arguments")
        assert talk.request.arguments == {"to": "eve"}
        assert ran.runs == [("send", {"to": "ann"})] * 2

    def test_the_users_next_words_close_a_pending_turn_in_its_place(self, ran: Recorder, asynchronous: bool) -> None:
        talk = around(ran, says(call("send", "a"), call("read", "b")), asynchronous=asynchronous)
        talk.say()
        talk.say("never mind")
        assert (ran.names, talk.requests) == ([], [])
        assert [message.type for message in talk.messages] == ["human", "ai", "tool", "tool", "human", "ai"]
        assert all("not executed" in str(message.content) for message in talk.results)

    def test_a_run_that_ends_before_the_gate_sees_it_asks_nothing_about_an_earlier_turn(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        """As where a middleware in front of the list ends the run at its start."""
        gate = ToolGate()
        middleware = [EndsTheSecondRun(), *gate.around()]
        script = [says(call("send", "a"))]
        talk = chat(script, tools_of(ran), gate=gate, middleware=middleware, asynchronous=asynchronous)
        talk.say()
        assert talk.request.tool_call_id == "a"
        talk.say("never mind")
        assert (talk.requests, ran.names, len(talk.model.seen)) == ([], [], 1)

    def test_the_first_answer_holds_where_the_pause_is_taken_up_again(self, ran: Recorder, asynchronous: bool) -> None:
        """From the checkpoint of the pause the same question is there again, and another answer changes nothing."""
        talk = around(ran, says(call("send", "a")), asynchronous=asynchronous)
        talk.say()
        paused = talk.agent.get_state(talk.config).config
        talk.answer("reject")
        if asynchronous:
            asyncio.run(talk.agent.ainvoke(None, paused))
        else:
            talk.agent.invoke(None, paused)
        talk.answer("approve")
        assert (ran.names, talk.requests) == ([], [])
        assert "rejected" in talk.result("a")


class TestToolsThatEndTheRun:
    def test_a_rejected_call_goes_back_to_the_model(self, ran: Recorder, asynchronous: bool) -> None:
        last = directly(ran.tool("last", SEND))
        talk = around(ran, says(call("last", "a")), tools=[last], asynchronous=asynchronous)
        talk.say()
        talk.answer("reject")
        assert len(talk.model.seen) == 2
        assert "rejected" in talk.result("a")
        assert (ran.names, talk.messages[-1].text) == ([], "done")

    def test_an_approved_call_ends_the_run_with_its_result(self, ran: Recorder, asynchronous: bool) -> None:
        last = directly(ran.tool("last", SEND))
        talk = around(ran, says(call("last", "a")), tools=[last], asynchronous=asynchronous)
        talk.say()
        talk.answer()
        assert (ran.names, talk.messages[-1].text, len(talk.model.seen)) == (["last"], "ran last", 1)

    def test_a_rejected_call_beside_one_that_runs_is_told_with_it(self, ran: Recorder, asynchronous: bool) -> None:
        tools = [directly(ran.tool("last", SEND)), ran.tool("read", READ)]
        talk = around(ran, says(call("last", "a"), call("read", "b")), tools=tools, asynchronous=asynchronous)
        talk.say()
        talk.answer("reject")
        assert (ran.names, len(talk.model.seen)) == (["read"], 2)
        assert "rejected" in talk.result("a")


class Verdict(BaseModel):
    """How it went."""

    good: bool


class TestStructuredOutput:
    def given(self, ran: Recorder, *script: Any, gate: ToolGate, every_turn: bool, asynchronous: bool) -> Chat:
        return chat(
            script,
            [*tools_of(ran), directly(ran.tool("last", SEND))],
            gate=gate,
            middleware=[ToolGateMiddleware(gate)] if every_turn else gate.around(),
            agent={"response_format": ToolStrategy(Verdict)},
            asynchronous=asynchronous,
        )

    @pytest.mark.parametrize("kind", ["approve", "reject"])
    @pytest.mark.parametrize("name", ["send", "last"])
    def test_beside_a_call_to_ask_about_it_stays_and_the_run_ends_as_in_the_other_form(
        self, asynchronous: bool, kind: str, name: str
    ) -> None:
        ends = []
        for every_turn in (True, False):
            ran = Recorder()
            turn = says(call("Verdict", "v", good=True), call(name, "s"))
            talk = self.given(ran, turn, gate=ToolGate(), every_turn=every_turn, asynchronous=asynchronous)
            talk.say()
            assert (talk.request.tool_name, ran.names) == (name, [])
            talk.answer(kind)
            values = talk.agent.get_state(talk.config).values
            results = {message.tool_call_id: message.content for message in talk.results}
            ends.append((values["structured_response"], ran.names, results, len(talk.model.seen), talk.requests))
        assert ends[0] == ends[1]
        assert ends[1][0] == Verdict(good=True)
        assert set(ends[1][2]) == {"v", "s"}

    def test_alone_it_ends_the_run_unasked(self, ran: Recorder, asynchronous: bool) -> None:
        turns = [says(call("send", "s")), says(call("Verdict", "v", good=False))]
        talk = self.given(ran, *turns, gate=ToolGate(), every_turn=False, asynchronous=asynchronous)
        talk.say()
        talk.answer()
        assert talk.requests == []
        assert talk.agent.get_state(talk.config).values["structured_response"] == Verdict(good=False)
        assert len(talk.model.seen) == 2
