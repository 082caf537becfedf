"""Answers that were left while no worker was there are carried into their runs, each once, and every thread is told."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel

from tests.behaviours.processes import run_child
from tests.cores import every_core
from tests.graph.support import graph_chat
from tests.ledger.databases import Databases
from tests.subagents.support import as_tool, inner, makes
from tests.support import Chat, Clock, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import (
    ApprovalAnswer,
    GatedAgent,
    InMemoryLedger,
    SqlLedger,
    Tier,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    aresume_answered,
    resume_answered,
)
from toolgate_langchain.approvals.ledger import AnswerStatus
from toolgate_langchain.errors import ConfigurationError, MissingCheckpointerError
from toolgate_langchain.hosts.langgraph.resuming import Resumed

WORKER = Path(__file__).parent / "children" / "inbox_worker.py"
ASK = ToolProfile(tier=Tier.CONSEQUENTIAL)
READ = ToolProfile(tier=Tier.READ_ONLY)


@dataclass
class Worker:
    """An agent of which any number of workers can be had, in one of its forms."""

    ledger: InMemoryLedger | SqlLedger
    around: bool
    asynchronous: bool

    def chat(self, ran: Recorder, *turns: Any, tools: Any = None, saver: Any = None, **options: Any) -> Chat:
        gate = ToolGate(ledger=self.ledger, **options)
        middleware: list[Any] = list(gate.around()) if self.around else [ToolGateMiddleware(gate)]
        return chat(
            turns,
            tools or [ran.tool("send", ASK)],
            gate=gate,
            middleware=middleware,
            checkpointer=saver,
            asynchronous=self.asynchronous,
        )

    def resume(self, talk: Chat, **options: Any) -> list[Resumed]:
        if self.asynchronous:
            return asyncio.run(aresume_answered(talk.agent, **options))
        return resume_answered(talk.agent, **options)


@pytest.fixture(params=["in the loop", "in the loop, async", "around", "around, async"])
def worker(request: pytest.FixtureRequest, databases: Databases) -> Worker:
    form, _, world = request.param.partition(", ")
    return Worker(databases.ledger(), form == "around", bool(world))


@pytest.fixture(params=["in the loop", "around, async"])
def fewer(request: pytest.FixtureRequest, sqlite: Databases) -> Worker:
    form, _, world = request.param.partition(", ")
    return Worker(sqlite.ledger(), form == "around", bool(world))


def leave(ledger: Any, kind: Any = "approve", **more: Any) -> AnswerStatus:
    """Answer the oldest request that waits, as somebody does who has no run at hand."""
    one = ledger.pending()[0].request
    answer = ApprovalAnswer(request_id=one.request_id, type=kind, **{"by": "ann", **more})
    status: AnswerStatus = ledger.leave_answer(one.request_id, answer, digest=one.digest)
    return status


def told(resumed: list[Resumed]) -> list[tuple[str, str]]:
    return [(one.thread_id, one.status) for one in resumed]


def test_a_yes_that_was_left_goes_into_its_run_once_and_the_record_says_whose_it_was(worker: Worker) -> None:
    ran = Recorder()
    outcomes: list[Any] = []
    talk = worker.chat(ran, says(call("send", "a", n=1)), on_decision=outcomes.append)
    talk.say()
    assert leave(worker.ledger) is AnswerStatus.RECORDED
    assert (ran.runs, talk.request.tool_call_id) == ([], "a")
    (resumed,) = worker.resume(talk)
    assert (resumed.thread_id, resumed.status, resumed.tool_name) == ("thread", "resumed", "send")
    assert resumed.output["messages"][-2].text == "ran send"
    assert ran.runs == [("send", {"n": 1})]
    assert [(one.code, one.by) for one in outcomes] == [("approved", "ann")]
    assert worker.resume(talk) == []
    assert ran.count("send") == 1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_so_it_does_in_a_hand_written_graph(sqlite: Databases, asynchronous: bool) -> None:
    ran, ledger = Recorder(), sqlite.ledger()
    turns = [says(call("send", "a", n=1))]
    talk = graph_chat(turns, [ran.tool("send", ASK)], gate=ToolGate(ledger=ledger), asynchronous=asynchronous)
    talk.say()
    leave(ledger)
    resumed = asyncio.run(aresume_answered(talk.agent)) if asynchronous else resume_answered(talk.agent)
    assert (told(resumed), ran.runs) == ([("thread", "resumed")], [("send", {"n": 1})])


@pytest.mark.parametrize(
    ("kind", "more", "ran_with", "result"),
    [
        ("reject", {"message": "not on a Friday"}, [], "not on a Friday"),
        ("edit", {"edited_arguments": {"n": 2}, "edited_name": "send"}, [("send", {"n": 2})], "ran send"),
        ("respond", {"message": "it is sent"}, [], "it is sent"),
    ],
)
def test_so_does_every_other_answer(fewer: Worker, kind: Any, more: Any, ran_with: Any, result: str) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a", n=1)))
    talk.say()
    leave(fewer.ledger, kind, **more)
    assert told(fewer.resume(talk)) == [("thread", "resumed")]
    assert ran.runs == ran_with and result in talk.result("a")


def test_a_run_that_asks_again_waits_for_the_next_answer_in_the_same_inbox(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a"), call("send", "b")), says(call("send", "c")))
    talk.say()
    for _ in range(3):
        leave(fewer.ledger)
        assert told(fewer.resume(talk)) == [("thread", "resumed")]
    assert (ran.count("send"), talk.requests, list(fewer.ledger.pending())) == (3, [], [])  # type: ignore[arg-type]


def test_many_threads_are_picked_up_in_the_order_of_their_answers(fewer: Worker) -> None:
    ran, saver = Recorder(), InMemorySaver()
    talk = fewer.chat(ran, *[says(call("send"))] * 3, saver=saver)
    for thread in ("one", "two", "three"):
        talk.thread = thread
        talk.say()
    for _ in range(2):
        leave(fewer.ledger)
    assert told(fewer.resume(talk)) == [("one", "resumed"), ("two", "resumed")]
    assert [one.thread_id for one in fewer.ledger.pending()] == ["three"]  # type: ignore[union-attr]


def test_only_the_threads_that_are_named_are_looked_at(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, *[says(call("send"))] * 2)
    for thread in ("one", "two"):
        talk.thread = thread
        talk.say()
        leave(fewer.ledger)
    assert told(fewer.resume(talk, threads=["two"])) == [("two", "resumed")]
    assert told(fewer.resume(talk, threads=lambda thread: thread == "one")) == [("one", "resumed")]


def test_what_waits_on_the_threads_of_another_agent_is_left_alone(fewer: Worker) -> None:
    ran = Recorder()
    talk, other = fewer.chat(ran, says(call("send"))), fewer.chat(ran)
    talk.say()
    leave(fewer.ledger)
    assert fewer.resume(other) == []
    assert told(fewer.resume(talk)) == [("thread", "resumed")]


def test_a_thread_of_the_same_name_with_another_agent_keeps_its_answer(fewer: Worker) -> None:
    ran = Recorder()
    talk, other = fewer.chat(ran, says(call("send"))), fewer.chat(ran)
    talk.say()
    other.say()
    leave(fewer.ledger)
    assert told(fewer.resume(other)) == [("thread", "not_pending")]
    assert told(fewer.resume(talk)) == [("thread", "resumed")]


def test_interrupts_that_are_not_the_gates_stay_as_they_are(fewer: Worker) -> None:
    """A tool that waits for a person beside an agent that asks, both inside of one turn."""
    ran = Recorder()
    gate = ToolGate(ledger=fewer.ledger)
    helper = as_tool(inner(gate, makes(call("rm", "r")), [ran.tool("rm", ASK)]), "helper", READ)

    def colour() -> str:
        return f"painted {interrupt('which colour?')}"

    paint = with_profile(StructuredTool.from_function(colour, name="paint", description="Paint."), READ)
    talk = chat(
        [says(call("helper", "h"), call("paint", "p")), says(text="done")],
        [helper, paint],
        gate=gate,
        asynchronous=fewer.asynchronous,
    )
    talk.say()
    leave(fewer.ledger)
    assert told(fewer.resume(talk)) == [("thread", "resumed")]
    assert ran.names == ["rm"]
    (foreign,) = talk.agent.get_state(talk.config).interrupts
    assert foreign.value == "which colour?"
    talk.resume("blue")
    assert talk.result("p") == "painted blue"


class Number(BaseModel):
    n: int


def test_an_answer_that_the_run_cannot_use_is_asked_again_with_what_is_wrong_and_the_next_one_works(
    fewer: Worker,
) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a", n=1)), tools=[ran.tool("send", ASK, schema=Number)])
    talk.say()
    leave(fewer.ledger, "edit", edited_arguments={"n": "many"}, edited_name="send")
    (resumed,) = fewer.resume(talk)
    assert resumed.status == "asked_again" and "valid integer" in resumed.detail
    (one,) = fewer.ledger.pending()  # type: ignore[misc]
    assert "valid integer" in one.request.error and ran.runs == []
    leave(fewer.ledger, "edit", edited_arguments={"n": 7}, edited_name="send")
    assert told(fewer.resume(talk)) == [("thread", "resumed")]
    assert ran.runs == [("send", {"n": 7})]


def test_an_answer_whose_run_went_another_way_is_told_so_once_and_nothing_runs(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a")), says(text="done"))
    talk.say()
    leave(fewer.ledger)
    talk.say("something else")
    (resumed,) = fewer.resume(talk)
    assert resumed.status == "not_pending" and "went another way" in resumed.detail
    assert (ran.runs, fewer.resume(talk)) == ([], [])


@pytest.mark.parametrize("second", ["approve", "edit", "reject"])
def test_what_was_left_first_stands_against_another_answer_through_the_agent_and_only_a_no_takes_it_back(
    fewer: Worker, second: str
) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a", n=1)))
    talk.say()
    leave(fewer.ledger)
    answer: dict[str, Any] = {"type": second, "request_id": talk.request.request_id, "by": "bob"}
    if second == "edit":
        answer["edited_action"] = {"name": "send", "args": {"n": 2}}
    if fewer.asynchronous:

        async def give() -> Any:
            return await talk.gate.aanswer(talk.agent, talk.config, answer)

        result = asyncio.run(give())
    else:
        result = talk.gate.answer(talk.agent, talk.config, answer)
    if second == "reject":
        assert (result.status, ran.runs) == ("accepted", [])
        assert told(fewer.resume(talk)) == [("thread", "carried_before")]
    else:
        assert (result.status, ran.runs) == ("already_answered", [])
        assert "resume_answered" in result.detail
        assert told(fewer.resume(talk)) == [("thread", "resumed")]
        assert ran.runs == [("send", {"n": 1})]


def test_a_bare_resume_cannot_turn_a_no_that_was_left_into_a_yes(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a")))
    talk.say()
    leave(fewer.ledger, "reject", message="no")
    talk.answer("approve", by="bob")
    assert ran.runs == [] and "rejected" in talk.result("a")


class Failing(AgentMiddleware[Any, Any]):
    """Fails before the model's second turn, as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = True

    def before_model(self, state: Any, runtime: Any) -> None:
        if self.fails and state["messages"][-1].type == "tool":
            raise RuntimeError("the model is away")


def test_a_run_that_raises_is_told_and_picked_up_again_and_its_call_is_not_repeated(sqlite: Databases) -> None:
    ran, ledger, failing = Recorder(), sqlite.ledger(), Failing()
    gate = ToolGate(ledger=ledger)
    turns = [says(call("send", "a")), says(text="done")]
    talk = chat(turns, [ran.tool("send", ASK)], gate=gate, middleware=gate.around([failing]))
    talk.say()
    leave(ledger)
    (resumed,) = resume_answered(talk.agent)
    assert resumed.status == "failed" and isinstance(resumed.error, RuntimeError)
    assert told(resume_answered(talk.agent)) == [("thread", "failed")]
    failing.fails = False
    (resumed,) = resume_answered(talk.agent)
    assert resumed.status == "resumed" and "went on" in resumed.detail
    assert ran.count("send") == 1 and talk.agent.get_state(talk.config).next == ()


def test_one_run_that_raises_keeps_no_other_from_going_on(sqlite: Databases) -> None:
    ran, ledger = Recorder(), sqlite.ledger()
    gate = ToolGate(ledger=ledger, clock=Clock())

    def broken(thread: str) -> dict[str, Any]:
        if thread == "one":
            raise RuntimeError("no config for it")
        return {"tags": ["resumed"]}

    talk = chat([says(call("send"))] * 2, [ran.tool("send", ASK)], gate=gate)
    for thread in ("one", "two"):
        talk.thread = thread
        talk.say()
        leave(ledger)
    assert told(resume_answered(talk.agent, config=broken)) == [("one", "failed"), ("two", "resumed")]
    assert told(resume_answered(talk.agent)) == [("one", "resumed")]


def test_a_run_whose_worker_was_lost_after_it_took_the_answer_in_goes_on(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a")))
    talk.say()
    leave(fewer.ledger)
    (left,) = fewer.ledger.left_answers()  # type: ignore[misc]
    # As a worker leaves it that takes the answer in, saves that, and is gone before the tool.
    talk.agent.interrupt_before_nodes = ["tools"]
    talk.resume(left.answer.to_json())
    talk.agent.interrupt_before_nodes = []
    assert ran.runs == []
    assert told(fewer.resume(talk)) == [("thread", "resumed")]
    assert ran.names == ["send"]


def test_an_answer_that_another_worker_is_carrying_is_left_to_it(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a")))
    talk.say()
    leave(fewer.ledger)
    request_id = talk.request.request_id
    fewer.ledger.claim(request_id)
    assert told(fewer.resume(talk)) == [("thread", "elsewhere")]
    assert ran.runs == []
    fewer.ledger.release(request_id)
    assert told(fewer.resume(talk)) == [("thread", "resumed")]


@every_core()
def test_of_workers_that_look_at_the_same_moment_one_carries_each_answer(databases: Databases) -> None:
    ran, saver, threads = Recorder(), InMemorySaver(), [f"t{number}" for number in range(6)]
    url = databases.url.replace("timeout=0.2", "timeout=30")
    first = Worker(databases.ledger(url), around=True, asynchronous=False)
    talk = first.chat(ran, *[says(call("send"))] * 6, saver=saver)
    for thread in threads:
        talk.thread = thread
        talk.say()
        leave(first.ledger)
    workers = [
        Worker(databases.ledger(url), around=True, asynchronous=False).chat(ran, says(), *[says()] * 9, saver=saver)
        for _ in range(2)
    ]
    barrier, came = threading.Barrier(2), list[Resumed]()

    def work(one: Chat) -> None:
        barrier.wait()
        came.extend(resume_answered(one.agent))

    running = [threading.Thread(target=work, args=(one,)) for one in workers]
    for thread_of in running:
        thread_of.start()
    for thread_of in running:
        thread_of.join()
    assert ran.count("send") == len(threads)
    assert sorted(one.thread_id for one in came if one.status == "resumed") == threads
    assert {one.status for one in came} <= {"resumed", "elsewhere", "carried_before"}
    assert list(first.ledger.left_answers()) == []  # type: ignore[arg-type]


def test_a_process_that_paused_is_gone_and_another_one_carries_the_answer(databases: Databases, tmp_path: Path) -> None:
    given = {"ledger": databases.url, "checkpoints": str(tmp_path / "checkpoints.db")}
    assert run_child(WORKER, {**given, "say": ["ann", "bob"]}) == {"resumed": [], "ran": []}
    assert leave(databases.ledger()) is AnswerStatus.RECORDED
    assert run_child(WORKER, given) == {"resumed": [["ann", "resumed"]], "ran": ["ann"]}
    assert run_child(WORKER, given) == {"resumed": [], "ran": []}


# --- who may answer -------------------------------------------------------------------------------


def test_whoever_may_not_answer_is_told_so_and_the_request_waits_again(fewer: Worker) -> None:
    ran = Recorder()
    talk = fewer.chat(ran, says(call("send", "a")), approvers=lambda request, by: by == "ann")
    talk.say()
    leave(fewer.ledger, by="eve")
    (resumed,) = fewer.resume(talk)
    assert (resumed.status, resumed.detail) == ("not_allowed", "eve may not answer this request")
    (one,) = fewer.ledger.pending()  # type: ignore[misc]
    assert one.request.error == "eve may not answer this request. It still waits."
    leave(fewer.ledger)
    assert told(fewer.resume(talk)) == [("thread", "resumed")]
    assert ran.names == ["send"]


# --- an agent without langgraph -------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_an_agent_without_langgraph_goes_on_with_the_answer_that_was_left(
    databases: Databases, asynchronous: bool
) -> None:
    ran, ledger = Recorder(), databases.ledger()
    model = ScriptedModel(script=[says(call("send", "a", n=1))])
    agent = GatedAgent(model, [ran.tool("send", ASK)], ToolGate(ledger=ledger))
    session = agent.invoke("go", {"configurable": {"thread_id": "here"}})["session"].to_json()

    def go_on() -> Any:
        return asyncio.run(agent.aresume(session)) if asynchronous else agent.resume(session)

    assert go_on()["request"] is not None
    leave(ledger)
    output = go_on()
    assert (output["request"], output["answer"].status, ran.runs) == (None, "accepted", [("send", {"n": 1})])
    assert list(ledger.left_answers()) == []  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"agent\.resume\(session\)"):
        resume_answered(agent)


def test_an_answer_that_it_cannot_use_is_asked_again_there_too(sqlite: Databases) -> None:
    ran, ledger = Recorder(), sqlite.ledger()
    model = ScriptedModel(script=[says(call("send", "a", n=1))])
    agent = GatedAgent(model, [ran.tool("send", ASK, schema=Number)], ToolGate(ledger=ledger))
    session = agent.invoke("go")["session"]
    leave(ledger, "edit", edited_arguments={"n": "many"}, edited_name="send")
    output = agent.resume(session)
    assert output["answer"] is not None and output["answer"].status == "asked_again"
    leave(ledger)
    output = agent.resume(output["session"])
    assert (output["request"], ran.runs) == (None, [("send", {"n": 1})])


# --- bad input ------------------------------------------------------------------------------------


def test_an_agent_without_a_gate_or_a_checkpointer_is_told_what_it_lacks() -> None:
    model = ScriptedModel(script=[says(text="hello")])
    with pytest.raises(ConfigurationError, match="behind no gate"):
        resume_answered(create_agent(model, []))
    with pytest.raises(MissingCheckpointerError, match="no checkpointer"):
        resume_answered(create_agent(model, [], middleware=[ToolGateMiddleware()]))
