"""Several workers, threads and agents at once: each answer is used once, where it was given."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.cores import every_core
from tests.support import Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import Tier, ToolCatalog, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.approvals.memory_ledger import InMemoryLedger
from toolgate_langchain.errors import AlreadyAnsweredError

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


@every_core()
def test_one_answer_from_four_workers_at_once_runs_the_call_once() -> None:
    gate, ran = ToolGate(), Recorder()
    told: list[str] = []
    for number in range(5):
        talk = chat([says(call("send", "a", x=number))], [ran.tool("send", SEND)], gate=gate, thread=str(number))
        talk.say()
        answer = {"type": "approve", "request_id": talk.request.request_id}
        together = Barrier(4)

        def give(worker: int, talk: Any = talk, answer: Any = answer, together: Barrier = together) -> None:
            together.wait()
            if worker % 2:
                gate.answer(talk.agent, talk.config, answer)
            else:
                try:
                    talk.agent.invoke(Command(resume=answer), talk.config)
                except AlreadyAnsweredError as late:
                    told.append(str(late))

        with ThreadPoolExecutor(4) as workers:
            list(workers.map(give, range(4)))
        assert all("already answered" in one for one in told)
        assert [arguments["x"] for _, arguments in ran.runs] == list(range(number + 1))


@every_core()
def test_many_threads_on_one_gate_answer_and_remember_for_themselves_alone() -> None:
    gate, saver, ran = ToolGate(), InMemorySaver(), Recorder()

    def one(number: int) -> None:
        script = [says(call("send", "k", x=number)), says(call("send", "k", x=number))]
        talk = chat(script, [ran.tool("send", SEND)], gate=gate, checkpointer=saver, thread=f"t{number}")
        talk.say()
        assert talk.request.arguments == {"x": number}
        talk.answer("approve", **({"remember": "arguments"} if number % 2 else {}))
        assert len(talk.requests) == (number + 1) % 2

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(one, range(24)))
    assert sorted(arguments["x"] for _, arguments in ran.runs) == sorted([*range(24), *range(1, 24, 2)])


def subagent(gate: ToolGate, ran: Recorder, *, gated: bool = True) -> BaseTool:
    """A tool in which an agent calls `rm` on what it is told."""

    def reply(messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(f"inner: {messages[-1].content}")
        return says(call("rm", "k", x=messages[0].content))

    middleware: list[Any] = [ToolGateMiddleware(gate)] if gated else []
    inner = create_agent(ScriptedModel(script=[reply] * 20), [ran.tool("rm", SEND)], middleware=middleware)

    @tool
    def helper(task: str) -> str:
        """Help."""
        return str(inner.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)

    return with_profile(helper, READ)


def test_two_subagents_that_ask_at_once_each_get_their_own_answer() -> None:
    gate, ran = ToolGate(), Recorder()
    script = [says(call("helper", "a", task="one"), call("helper", "b", task="two"))]
    talk = chat(script, [subagent(gate, ran)], gate=gate)
    talk.say()
    assert {request.agent_path for request in talk.requests} == {("helper",)}
    while talk.requests:
        request = talk.requests[0]
        kind = "approve" if request.arguments["x"] == "two" else "reject"
        gate.answer(talk.agent, talk.config, {"type": kind, "request_id": request.request_id})
    assert ran.runs == [("rm", {"x": "two"})]
    assert "rejected" in talk.result("a")
    assert talk.result("b") == "inner: ran rm"


@pytest.mark.parametrize("first", ["reject", "approve"])
def test_what_was_rejected_in_a_subagent_is_not_asked_again_by_its_parent(first: str) -> None:
    gate, ran = ToolGate(), Recorder()
    script = [says(call("helper", "a", task="it")), says(call("rm", "b", x="it"))]
    talk = chat(script, [subagent(gate, ran), ran.tool("rm", SEND)], gate=gate)
    talk.say()
    talk.answer(first)
    assert len(talk.requests) == (first == "approve")
    assert ran.count("rm") == (first == "approve")


def test_a_gate_that_could_never_ask_refuses_what_became_askable_since() -> None:
    ran = Recorder()
    harmless, late = ran.tool("read", READ), ran.tool("send", SEND)
    catalog = ToolCatalog.from_tools([harmless], closed=True)
    gate = ToolGate(catalog)
    middleware = ToolGateMiddleware(gate)
    assert type(middleware).__name__ == "NeverAsks"
    catalog.register(late)
    talk = chat([says(call("send", "a"), call("read", "b"))], [harmless, late], gate=gate, middleware=[middleware])
    talk.say()
    assert ran.names == ["read"]
    assert "not executed" in talk.result("a")


@every_core()
def test_the_memory_of_a_run_can_be_read_while_it_is_written() -> None:
    ledger = InMemoryLedger()

    def write(number: int) -> None:
        for step in range(300):
            ledger.note_rejected("run", f"{number}-{step}", "rm", f"{number}-{step}")
            ledger.note_change("run", "rm", "changed")

    def read(_: int) -> None:
        for _step in range(300):
            assert ledger.memory("run") is not None

    with ThreadPoolExecutor(4) as workers:
        futures = [workers.submit(work, number) for number, work in enumerate((write, read, write, read))]
        for future in futures:
            future.result()
    assert ledger.memory("run").rejections == {"rm": 600}
