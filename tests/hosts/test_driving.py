"""Driving a run: one answer at a time through the gate, or with an approver until the agent is done."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Interrupt, interrupt

from tests.support import Chat, Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import ApprovalAnswer, ApprovalRequest, Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.approvals.queue import AnswerMode
from toolgate_langchain.errors import InvalidAnswerError
from toolgate_langchain.hosts.langgraph.driving import DriveResult, adrive, drive, pending_requests

READ = ToolProfile(tier=Tier.READ_ONLY)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)
GO = {"messages": [HumanMessage("go")]}
CONFIG = {"configurable": {"thread_id": "thread"}}


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


Drives = Callable[..., DriveResult]


@pytest.fixture
def drives(asynchronous: bool) -> Drives:
    """Drive an agent, synchronously or not."""

    def driving(agent: Any, given: Any = GO, config: Any = CONFIG, **options: Any) -> DriveResult:
        if asynchronous:
            return asyncio.run(adrive(agent, given, config, **options))
        return drive(agent, given, config, **options)

    return driving


class Person:
    """Answers as it was told, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[ApprovalRequest]()

    def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


YES: Mapping[str, Any] = {"type": "approve"}
NO: Mapping[str, Any] = {"type": "reject"}


def agent_of(ran: Recorder, *turns: Any, gate: ToolGate | None = None, **options: Any) -> Any:
    return chat(turns, [ran.tool("send", CONSEQUENTIAL), ran.tool("read", READ)], gate=gate, **options).agent


def nodes(gate: ToolGate, ran: Recorder, *, foreign: bool = False) -> Any:
    """A graph in which two agents, and on request a node of somebody else's, wait at the same time."""
    graph = StateGraph(MessagesState)
    for name in ("left", "right"):
        model = ScriptedModel(script=[says(call("send", name, who=name))])
        agent = create_agent(model, [ran.tool("send", CONSEQUENTIAL)], middleware=[ToolGateMiddleware(gate)])
        graph.add_node(name, agent)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    if foreign:

        def asks(state: MessagesState) -> dict[str, Any]:
            return {"messages": [HumanMessage(f"they said {interrupt({'question': 'which?'})}")]}

        graph.add_node("foreign", asks)
        graph.add_edge(START, "foreign")
        graph.add_edge("foreign", END)
    return graph.compile(checkpointer=InMemorySaver())


class TestDriving:
    def test_the_approver_is_asked_each_request_until_the_agent_is_done(self, drives: Drives, ran: Recorder) -> None:
        agent = agent_of(ran, says(call("send", "a", n=1), call("send", "b", n=2)), says(call("send", "c", n=3)))
        person = Person(YES, NO, YES)
        result = drives(agent, approver=person)
        assert result.done
        assert result.output["messages"][-1].text == "done"
        assert [request.tool_call_id for request in person.asked] == ["a", "b", "c"]
        assert ran.runs == [("send", {"n": 1}), ("send", {"n": 3})]

    def test_an_approver_may_be_asynchronous(self, drives: Drives, ran: Recorder) -> None:
        async def person(_: ApprovalRequest) -> Mapping[str, Any]:
            await asyncio.sleep(0)
            return YES

        assert drives(agent_of(ran, says(call("send", "a"))), approver=person).done
        assert ran.count("send") == 1

    @pytest.mark.parametrize(
        "answer",
        [
            {"type": "approve"},
            ApprovalAnswer(type="approve"),
            {"decisions": [{"type": "approve"}]},
        ],
        ids=["bare", "object", "decisions"],
    )
    def test_an_answer_may_leave_out_the_id_of_its_request(self, drives: Drives, ran: Recorder, answer: Any) -> None:
        person = Person(answer)
        assert drives(agent_of(ran, says(call("send", "a"))), approver=person).done
        assert (ran.count("send"), len(person.asked)) == (1, 1)

    @pytest.mark.parametrize("answer", [None, True, 1, "approve", {}, [], {"type": "APPROVE"}], ids=repr)
    def test_what_is_no_answer_is_asked_again_and_denied_after_three(
        self, drives: Drives, ran: Recorder, answer: Any
    ) -> None:
        person = Person(answer)
        assert drives(agent_of(ran, says(call("send", "a"))), approver=person).done
        assert ran.runs == []
        assert [bool(request.error) for request in person.asked] == [False, True, True]

    def test_an_approver_that_always_answers_another_request_ends_the_drive_and_leaves_the_request(
        self, drives: Drives, ran: Recorder
    ) -> None:
        agent = agent_of(ran, says(call("send", "a")))
        person = Person({"type": "approve", "request_id": "another"})
        with pytest.raises(InvalidAnswerError, match="still pending"):
            drives(agent, approver=person)
        assert ran.runs == []
        assert drives(agent, None, approver=Person(YES)).done
        assert ran.count("send") == 1

    def test_an_approver_that_raises_leaves_the_request_pending(self, drives: Drives, ran: Recorder) -> None:
        def breaks(_: ApprovalRequest) -> Mapping[str, Any]:
            raise RuntimeError("the screen is gone")

        agent = agent_of(ran, says(call("send", "a")))
        with pytest.raises(RuntimeError, match="the screen is gone"):
            drives(agent, approver=breaks)
        assert ran.runs == []
        assert drives(agent, None, approver=Person(YES)).done
        assert ran.count("send") == 1

    def test_without_input_it_goes_on_with_what_is_pending(self, drives: Drives, ran: Recorder) -> None:
        talk = chat([says(call("send", "a"))], [ran.tool("send", CONSEQUENTIAL)])
        talk.say()
        result = drives(talk.agent, None, talk.config, approver=Person(YES))
        assert (result.done, ran.count("send")) == (True, 1)

    def test_without_input_and_with_nothing_pending_it_gives_the_state(self, drives: Drives, ran: Recorder) -> None:
        talk = chat([], [ran.tool("read", READ)])
        talk.say("hello")
        result = drives(talk.agent, None, talk.config, approver=Person(NO))
        assert result.done
        assert result.output["messages"][0].text == "hello"

    def test_the_runs_context_is_handed_on(self, drives: Drives, ran: Recorder) -> None:
        agent = agent_of(
            ran,
            says(call("send", "a")),
            surface=lambda runtime: runtime.context["surface"],
            agent={"context_schema": dict},
        )
        person = Person(YES)
        assert drives(agent, approver=person, context={"surface": "cli"}).done
        assert [request.surface for request in person.asked] == ["cli"]


class TestSeveralPendingInterrupts:
    def test_each_is_answered_by_its_own_answer(self, drives: Drives, ran: Recorder) -> None:
        def only_left(request: ApprovalRequest) -> Mapping[str, Any]:
            return YES if request.arguments == {"who": "left"} else NO

        result = drives(nodes(ToolGate(), ran), approver=only_left)
        assert result.done
        assert ran.runs == [("send", {"who": "left"})]

    def test_the_gate_answers_one_and_leaves_the_other(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        graph = nodes(gate, ran)
        talk = Chat(graph, ScriptedModel(), gate, asynchronous=asynchronous)
        talk.invoke(GO)
        by_call = {request.tool_call_id: request.request_id for request in talk.requests}
        assert set(by_call) == {"left", "right"}
        give(talk, {"type": "approve", "request_id": by_call["right"]})
        assert ran.runs == [("send", {"who": "right"})]
        assert [request.request_id for request in talk.requests] == [by_call["left"]]
        assert give(talk, {"type": "approve", "request_id": by_call["right"]}) == "already_answered"
        give(talk, {"type": "reject", "request_id": by_call["left"]})
        assert (talk.requests, ran.count("send")) == ([], 1)


def give(talk: Chat, answer: Mapping[str, Any]) -> str:
    if talk.asynchronous:

        async def giving() -> str:
            return (await talk.gate.aanswer(talk.agent, talk.config, answer)).status

        return asyncio.run(giving())
    return talk.gate.answer(talk.agent, talk.config, answer).status


class TestAnAnswerThatWasSentWithoutAKey:
    """LangGraph keeps it, and would give it to a later question of the same turn."""

    @pytest.mark.parametrize("answers", ["strict", "lenient"])
    def test_it_does_not_answer_the_question_after_the_next(
        self, ran: Recorder, asynchronous: bool, answers: AnswerMode
    ) -> None:
        turn = says(*[call("send", call_id, n=n) for n, call_id in enumerate("abc")])
        gate = ToolGate(answers=answers)
        talk = chat([turn], [ran.tool("send", CONSEQUENTIAL)], gate=gate, asynchronous=asynchronous)
        talk.say()
        talk.resume({"type": "approve", **({"request_id": talk.request.request_id} if answers == "strict" else {})})
        assert give(talk, {"type": "reject", "request_id": talk.request.request_id}) == "accepted"
        assert (talk.request.tool_call_id, talk.request.error, ran.runs) == ("c", "", [])

    @pytest.mark.parametrize("answers", ["strict", "lenient"])
    def test_nor_where_an_approver_goes_on(self, drives: Drives, ran: Recorder, answers: AnswerMode) -> None:
        turn = says(*[call("send", call_id, n=n) for n, call_id in enumerate("abc")])
        talk = chat([turn], [ran.tool("send", CONSEQUENTIAL)], gate=ToolGate(answers=answers))
        talk.say()
        talk.resume({"type": "approve", **({"request_id": talk.request.request_id} if answers == "strict" else {})})
        person = Person(NO)
        assert drives(talk.agent, None, talk.config, approver=person).done
        assert [(request.tool_call_id, request.error) for request in person.asked] == [("b", ""), ("c", "")]
        assert ran.runs == [("send", {"n": 0})]


class TestForeignInterrupts:
    def test_without_a_handler_the_run_stops_there_and_the_result_lists_it(self, drives: Drives, ran: Recorder) -> None:
        graph = nodes(ToolGate(), ran, foreign=True)
        result = drives(graph, approver=Person(YES))
        assert not result.done
        assert [one.value for one in result.foreign] == [{"question": "which?"}]
        assert ran.count("send") == 2

    def test_with_a_handler_it_is_answered(self, drives: Drives, ran: Recorder) -> None:
        heard: list[Any] = []

        def handler(one: Interrupt) -> str:
            heard.append(one.value)
            return "this one"

        result = drives(nodes(ToolGate(), ran, foreign=True), approver=Person(YES), foreign=handler)
        assert result.done
        assert heard == [{"question": "which?"}]
        assert "they said this one" in [message.text for message in result.output["messages"]]

    def test_with_an_asynchronous_handler(self, drives: Drives, ran: Recorder) -> None:
        async def handler(_: Interrupt) -> str:
            await asyncio.sleep(0)
            return "this one"

        assert drives(nodes(ToolGate(), ran, foreign=True), approver=Person(YES), foreign=handler).done

    def test_a_handler_that_gives_nothing_leaves_it(self, drives: Drives, ran: Recorder) -> None:
        result = drives(nodes(ToolGate(), ran, foreign=True), approver=Person(YES), foreign=lambda _: None)
        assert [one.value for one in result.foreign] == [{"question": "which?"}]

    @pytest.mark.parametrize(
        "value",
        [
            {"reason": "toolgate:approval"},
            {"reason": "toolgate:approval", "toolgate": "v1", "action_requests": [1], "review_configs": [1]},
            {"action_requests": [{"name": "send", "args": {}}], "review_configs": [{}]},
            "toolgate:approval",
            None,
        ],
        ids=repr,
    )
    def test_what_only_looks_like_a_request_is_foreign(self, value: Any) -> None:
        assert pending_requests([Interrupt(value=value, id="i")]) == []


class TestAgentsWithoutACheckpointer:
    def test_on_an_unattended_surface_it_runs_to_its_end(self, drives: Drives, ran: Recorder) -> None:
        model = ScriptedModel(script=[says(call("read", "r"), call("send", "s"))])
        agent = create_agent(
            model,
            [ran.tool("read", READ), ran.tool("send", CONSEQUENTIAL)],
            middleware=[ToolGateMiddleware(surface="cron")],
        )
        person = Person(YES)
        result = drives(agent, config=None, approver=person)
        assert (result.done, ran.names, person.asked) == (True, ["read"], [])
        assert result.output["messages"][-1].text == "done"
