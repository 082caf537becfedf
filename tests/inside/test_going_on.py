"""A `GatedAgent` inside of a tool goes on where it was: after a pause, a crash, elsewhere; nothing is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.agent.inside import as_tool, cleaner, makes
from tests.agent.talking import CONSEQUENTIAL, READ
from tests.behaviours.processes import run_child
from tests.inside.support import does_as_told
from tests.support import Chat, Clock, Recorder, ScriptedModel, call, chat, says, waited_for, with_profile
from toolgate_langchain import ApprovalAnswer, GatedAgent, InMemoryLedger, Surface, ToolGate, Verdict, resume_answered
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.errors import ConfigurationError

CHILD = Path(__file__).parent / "children" / "inside.py"
ALLOWED = [Surface("chat", consequential=Verdict.ALLOW)]


def tool_of(run: Callable[..., Any], name: str = "helper", profile: Any = READ) -> BaseTool:
    """A tool whose body is an asynchronous function that awaits nothing where its agents are run synchronously."""

    def at_once(**given: Any) -> str:
        body = run(**given)
        with pytest.raises(StopIteration) as ended:
            body.send(None)
        return str(ended.value.value)

    made = StructuredTool.from_function(at_once, run, name, "Let agents do it.", infer_schema=False, args_schema=ANY)
    return with_profile(made, profile)


ANY: Any = {"type": "object", "properties": {}}


async def said(agent: GatedAgent, words: str, *, asynchronous: bool) -> str:
    """What an agent says to a task."""
    output = await agent.ainvoke(words) if asynchronous else agent.invoke(words)
    return str(output["messages"][-1].text)


# --- the tool is entered again ------------------------------------------------------------------


def test_what_the_agent_did_before_the_pause_is_not_done_again_and_no_turn_of_its_model_is_made_up_anew(
    ran: Recorder, asynchronous: bool
) -> None:
    gate, entered = ToolGate(surfaces=[Surface("chat", routine=Verdict.ALLOW)]), list[str]()
    model = ScriptedModel(
        script=[says(call("note", "n", x=1)), says(call("rm", "r", x=1), call("note", "m", x=2)), says(text="did it")]
    )
    tools = [ran.tool("rm", CONSEQUENTIAL), ran.tool("note", READ)]
    agent = GatedAgent(model, tools, gate, name="cleaner")
    helper = as_tool(agent, entered=entered)
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert (ran.names, len(model.seen), entered) == (["note"], 2, ["helper"])
    talk.answer()
    # The body of the tool runs again, as of any tool that pauses; what the agent in it did does not.
    assert (len(model.seen), entered) == (3, ["helper", "helper"])
    assert sorted(ran.names) == ["note", "note", "rm"]
    assert talk.result("h") == "did it"


@pytest.mark.parametrize(
    ("asynchronous", "beside"),
    [(False, False), (True, False), (True, True)],
    ids=["sync", "async", "async, beside each other"],
)
def test_of_two_agents_in_one_tool_the_one_that_ended_is_not_run_again(
    ran: Recorder, asynchronous: bool, beside: bool
) -> None:
    gate = ToolGate(surfaces=[Surface("chat", routine=Verdict.ALLOW)])
    looks = cleaner(gate, ran, call("look", "l"), name="looks")
    removes = does_as_told(gate, ran, name="removes")

    async def both() -> str:
        parts = [said(looks, "go", asynchronous=asynchronous), said(removes, "a", asynchronous=asynchronous)]
        return ", ".join(await asyncio.gather(*parts) if beside else [await part for part in parts])

    talk = chat([says(call("helper", "h"))], [tool_of(both)], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert talk.request.agent_path == ("helper", "removes")
    talk.answer()
    assert (talk.requests, ran.names) == ([], ["look", "rm"])
    assert talk.result("h") == "inner: ran look, inner: ran rm"


async def test_two_that_wait_beside_each_other_in_one_tool_are_asked_one_after_the_other(ran: Recorder) -> None:
    gate = ToolGate()
    agent = does_as_told(gate, ran)

    async def both() -> str:
        return ", ".join(await asyncio.gather(*(said(agent, x, asynchronous=True) for x in ("a", "b"))))

    talk = chat([says(call("helper", "h"))], [tool_of(both)], gate=gate, asynchronous=True)
    await talk.agent.ainvoke({"messages": [HumanMessage("go")]}, talk.config)
    asked = []
    while talk.requests:
        asked.append(talk.request.arguments["x"])
        answer = {"type": "approve", "request_id": talk.request.request_id}
        assert (await gate.aanswer(talk.agent, talk.config, answer)).status == "accepted"
    assert sorted(asked) == ["a", "b"] == sorted(arguments["x"] for _, arguments in ran.runs)
    assert talk.result("h") == "inner: ran rm, inner: ran rm"


@pytest.mark.parametrize("other", ["words", "agent"])
def test_a_tool_that_gives_other_words_or_starts_another_agent_when_it_is_entered_again_fails_the_run(
    ran: Recorder, asynchronous: bool, other: str
) -> None:
    """What was approved and done was for the first; it is neither given to another nor done once more."""
    gate, times = ToolGate(), iter(range(9))
    agents = [cleaner(gate, ran, call("rm", "r", x=1), name=name) for name in ("first", "second")]

    async def changing() -> str:
        number = next(times)
        agent, words = (agents[0], f"at {number}") if other == "words" else (agents[number], "go")
        return await said(agent, words, asynchronous=asynchronous)

    talk = chat([says(call("helper", "h"))], [tool_of(changing)], gate=gate, asynchronous=asynchronous)
    talk.say()
    with pytest.raises(ConfigurationError, match=r"started other agents than before, or gave .* other words"):
        talk.answer()
    assert ran.runs == []


@pytest.mark.parametrize("profile", [READ, CONSEQUENTIAL], ids=["unasked", "approved"])
def test_a_tool_that_catches_everything_does_not_swallow_the_question(
    ran: Recorder, asynchronous: bool, profile: Any
) -> None:
    gate = ToolGate()
    agent = cleaner(gate, ran, call("rm", "r", x=1))

    async def catching() -> str:
        try:
            return await said(agent, "go", asynchronous=asynchronous)
        except Exception:
            return "it failed, never mind"

    helper = tool_of(catching, profile=profile)
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    if profile is CONSEQUENTIAL:
        talk.answer()
    assert talk.request.tool_name == "rm"
    talk.answer()
    assert (talk.result("h"), ran.count("rm")) == ("inner: ran rm", 1)


# --- crashes ------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process ends here, as far as the tool can tell."""


def test_after_a_crash_between_two_of_its_steps_it_goes_on_from_the_last(ran: Recorder, asynchronous: bool) -> None:
    gate, dies = ToolGate(surfaces=ALLOWED), iter([True, False])
    model = ScriptedModel(script=[says(call("rm", "r", x=1)), says(call("look", "l")), says(text="did it")])

    def looking() -> str:
        if next(dies):
            raise Killed
        ran.runs.append(("look", {}))
        return "looked"

    look = with_profile(StructuredTool.from_function(looking, name="look", description="Look."), READ)
    agent = GatedAgent(model, [ran.tool("rm", CONSEQUENTIAL), look], gate, name="cleaner")
    talk = chat([says(call("helper", "h"))], [as_tool(agent)], gate=gate, asynchronous=asynchronous)
    with pytest.raises(Killed):
        talk.say()
    talk.invoke(None)
    assert (ran.names, len(model.seen), talk.result("h")) == (["rm", "look"], 3, "did it")


@pytest.mark.parametrize("said_of_it", ["done", "try_again", "reject"])
def test_what_became_of_a_call_that_it_had_started_is_asked_at_the_root(
    ran: Recorder, asynchronous: bool, said_of_it: str
) -> None:
    clock, dies = Clock(), iter([True, False])
    gate = ToolGate(surfaces=ALLOWED, ledger=InMemoryLedger(clock=clock))

    def sending() -> str:
        ran.runs.append(("send", {}))
        if next(dies):
            raise Killed
        return "sent"

    send = with_profile(StructuredTool.from_function(sending, name="send", description="Send."), CONSEQUENTIAL)
    agent = GatedAgent(makes(call("send", "s")), [send], gate, name="mailer")
    talk = chat([says(call("helper", "h"))], [as_tool(agent)], gate=gate, asynchronous=asynchronous)
    with pytest.MonkeyPatch.context() as dead:
        dead.setattr(gate.ledger, "end", lambda *_, **__: True)  # its process died before it could say so
        with pytest.raises(Killed):
            talk.say()
    clock.forward(hours=1)  # and its lease is over
    talk.invoke(None)
    assert (talk.request.kind, talk.request.agent_path, ran.count("send")) == ("outcome", ("helper", "mailer"), 1)
    talk.answer(said_of_it)
    assert ran.count("send") == (2 if said_of_it == "try_again" else 1)
    told = {"done": "carried out", "try_again": "sent", "reject": "unknown"}[said_of_it]
    assert talk.requests == [] and told in talk.result("h")


def test_an_error_of_its_tool_leaves_the_run_and_what_had_run_is_not_run_again(
    ran: Recorder, asynchronous: bool
) -> None:
    gate, fails = ToolGate(surfaces=ALLOWED), iter([True, False])

    def looking() -> str:
        if next(fails):
            raise RuntimeError("not now")
        return "looked"

    look = with_profile(StructuredTool.from_function(looking, name="look", description="Look."), READ)
    agent = GatedAgent(makes(call("rm", "r", x=1), call("look", "l")), [ran.tool("rm", CONSEQUENTIAL), look], gate)
    talk = chat([says(call("helper", "h"))], [as_tool(agent)], gate=gate, asynchronous=asynchronous)
    with pytest.raises(RuntimeError, match="not now"):
        talk.say()
    talk.invoke(None)
    assert (ran.count("rm"), talk.result("h")) == (1, "inner: ran rm; looked")


def test_a_tool_that_other_middleware_tries_again_asks_on_and_runs_nothing_twice(ran: Recorder) -> None:
    gate, fails = ToolGate(), iter([True, False])
    agent = cleaner(gate, ran, call("rm", "r", x=1))

    async def failing() -> str:
        told = await said(agent, "go", asynchronous=False)
        if next(fails):
            raise RuntimeError("not now")
        return told

    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    talk = chat([says(call("helper", "h"))], [tool_of(failing)], gate=gate, middleware=gate.around([retry]))
    talk.say()
    talk.answer()
    assert (talk.requests, ran.count("rm"), talk.result("h")) == ([], 1, "inner: ran rm")


# --- answers that come twice, late, or to another past ------------------------------------------


def helped(ran: Recorder, asynchronous: bool, ledger: InMemoryLedger | None = None) -> Chat:
    gate = ToolGate(ledger=ledger)
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    talk = chat([says(call("helper", "h"))], tools, gate=gate, asynchronous=asynchronous)
    talk.say()
    return talk


def test_an_answer_that_comes_twice_runs_nothing_twice(ran: Recorder, asynchronous: bool) -> None:
    talk = helped(ran, asynchronous)
    answer = {"type": "approve", "request_id": talk.request.request_id}
    statuses = [talk.gate.answer(talk.agent, talk.config, answer).status for _ in range(2)]
    assert (statuses, ran.count("rm")) == (["accepted", "already_answered"], 1)


async def test_of_two_workers_that_resume_at_once_one_leaves_no_trace(ran: Recorder) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    talk = chat([says(call("helper", "h"))], tools, gate=gate, asynchronous=True)
    await talk.agent.ainvoke({"messages": [HumanMessage("go")]}, talk.config)
    command: Any = Command(resume={"type": "approve", "request_id": talk.request.request_id})
    both = (talk.agent.ainvoke(command, talk.config) for _ in range(2))
    ended = await asyncio.gather(*both, return_exceptions=True)
    assert [type(one).__name__ for one in ended if isinstance(one, BaseException)] == ["LeavesNothing"]
    assert (ran.count("rm"), talk.requests, talk.result("h")) == (1, [], "inner: ran rm")


def test_new_words_close_what_waits_inside(ran: Recorder, asynchronous: bool) -> None:
    ledger = InMemoryLedger()
    talk = helped(ran, asynchronous, ledger)
    request = talk.request.request_id
    talk.say("something else")
    assert (talk.requests, list(ledger.pending())) == ([], [])
    assert "not executed" in talk.result("h")
    answer = {"type": "approve", "request_id": request}
    assert talk.gate.answer(talk.agent, talk.config, answer).status == "not_pending"
    assert ledger.status(request) is GrantStatus.WITHDRAWN
    assert ran.runs == []


def test_who_goes_back_to_a_checkpoint_before_the_answer_does_not_run_the_call_again(
    ran: Recorder, asynchronous: bool
) -> None:
    talk = helped(ran, asynchronous)
    paused = talk.agent.get_state(talk.config).config
    answer: Any = Command(resume={"type": "approve", "request_id": talk.request.request_id})
    talk.resume(answer.resume)
    assert ran.count("rm") == 1
    if asynchronous:
        waited_for(talk.agent.ainvoke(answer, paused))
    else:
        talk.agent.invoke(answer, paused)
    assert ran.count("rm") == 1


def test_an_answer_that_was_left_in_the_inbox_is_carried_to_it(ran: Recorder) -> None:
    talk = helped(ran, asynchronous=False)
    request = talk.request
    answer = ApprovalAnswer(type="approve")
    talk.gate.ledger.leave_answer(request.request_id, answer, digest=request.digest)
    assert [one.status for one in resume_answered(talk.agent)] == ["resumed"]
    assert (talk.requests, ran.count("rm"), resume_answered(talk.agent)) == ([], 1, [])


# --- other processes ----------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [False, True], ids=["first synchronously", "first asynchronously"])
def test_each_answer_is_given_in_another_process(tmp_path: Path, asynchronous: bool) -> None:
    def step(answer: Any = None) -> dict[str, Any]:
        return run_child(CHILD, {"database": str(tmp_path / "db"), "answer": answer, "asynchronous": asynchronous})

    done = step()
    asked, ran, turns = list[Any](), list[int](), done["turns"]
    for kind in ("approve", "reject"):
        ((request_id, call_id, path),) = done["pending"]
        asked.append((call_id, path))
        asynchronous = not asynchronous
        done = step({"type": kind, "request_id": request_id})
        ran, turns = ran + done["ran"], turns + done["turns"]
    assert asked == [("r", ["helper", "cleaner"]), ("s", ["helper", "cleaner"])]
    assert (done["pending"], ran, turns) == ([], [1], 2)
    assert "ran 1" in done["results"]["h"] and "rejected" in done["results"]["h"]


def test_a_checkpoint_in_memory_carries_it_too(ran: Recorder) -> None:
    """An agent that is built anew on the same checkpoints goes on with what the old one's tool had begun."""
    saver, gate = InMemorySaver(), ToolGate()

    def built() -> Chat:
        tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
        return chat([says(call("helper", "h"))], tools, gate=gate, checkpointer=saver)

    built().say()
    talk = built()
    talk.model.script.clear()
    talk.answer()
    assert (ran.count("rm"), talk.result("h")) == (1, "inner: ran rm")
