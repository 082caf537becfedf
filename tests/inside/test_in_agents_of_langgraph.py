"""A `GatedAgent` inside of a tool of an agent of LangGraph: its requests surface and are answered at the root."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langchain_core.tracers import BaseTracer
from langgraph.types import Command

from tests.agent.inside import as_tool, cleaner, makes
from tests.agent.talking import CONSEQUENTIAL, READ
from tests.inside.support import FORMS, GRAPHS, answer_one, does_as_told, outer
from tests.subagents.support import answer_all, inner
from tests.subagents.support import as_tool as graph_as_tool
from tests.support import Chat, Clock, Recorder, call, chat, says, waited_for, with_profile
from toolgate_langchain import GatedAgent, InMemoryLedger, Surface, ToolGate, ToolGateMiddleware, drive
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.hosts.langgraph.middleware import NeverAsks

PATH = ("helper", "cleaner")


def helped(gate: ToolGate, ran: Recorder, *calls: Any, asynchronous: bool, profile: Any = READ, **options: Any) -> Chat:
    """An agent of LangGraph with an agent in its tool that makes these calls, and a tool of the same name beside it."""
    tools = [as_tool(cleaner(gate, ran, *calls, **options), profile=profile), ran.tool("rm", CONSEQUENTIAL)]
    talk = chat([says(call("helper", "h"))], tools, gate=gate, asynchronous=asynchronous)
    talk.say()
    return talk


@pytest.mark.parametrize("form", [*FORMS, *GRAPHS])
def test_its_request_surfaces_at_the_root_with_the_path_of_agents(ran: Recorder, asynchronous: bool, form: str) -> None:
    ledger = InMemoryLedger()
    gate = ToolGate(ledger=ledger)
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    talk = outer(form, [says(call("helper", "h"))], tools, gate, asynchronous=asynchronous)
    talk.say()
    assert (talk.request.tool_name, talk.request.agent_path) == ("rm", PATH)
    assert [one.request.request_id for one in ledger.pending()] == [talk.request.request_id]
    assert ran.runs == []
    assert answer_all(talk) == ["rm"]
    assert ran.runs == [("rm", {"x": 1})]
    assert talk.result("h") == "inner: ran rm"


def test_requests_of_agents_in_agents_are_answered_one_after_the_other(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    inmost = as_tool(cleaner(gate, ran, call("rm", "r", x=1), call("rm", "s", x=2)), "clean")
    planner = GatedAgent(makes(call("clean", "c")), [inmost], gate, name="planner")
    talk = chat([says(call("plan", "p"))], [as_tool(planner, "plan")], gate=gate, asynchronous=asynchronous)
    talk.say()
    asked = []
    while talk.requests:
        asked.append((talk.request.tool_call_id, talk.request.agent_path))
        talk.answer()
    path = ("plan", "planner", "clean", "cleaner")
    assert asked == [("r", path), ("s", path)]
    assert [arguments["x"] for _, arguments in ran.runs] == [1, 2]
    assert talk.result("p") == "inner: inner: ran rm; ran rm"


def test_one_in_a_tool_of_an_agent_of_langgraph_in_a_tool_asks_at_the_root(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    middle = inner(gate, makes(call("clean", "c")), [as_tool(cleaner(gate, ran, call("rm", "r", x=1)), "clean")])
    talk = chat([says(call("plan", "p"))], [graph_as_tool(middle, "plan")], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert talk.request.agent_path == ("plan", "clean", "cleaner")
    assert answer_all(talk) == ["rm"]
    assert (talk.result("p"), ran.count("rm")) == ("inner: inner: ran rm", 1)


@pytest.mark.parametrize("form", [*FORMS, *GRAPHS])
def test_several_in_one_turn_wait_beside_each_other_and_each_has_its_own_answer(
    ran: Recorder, asynchronous: bool, form: str
) -> None:
    gate = ToolGate()
    helper = as_tool(does_as_told(gate, ran))
    both = says(call("helper", "a", task="keep"), call("helper", "b", task="remove"))
    talk = outer(form, [both], [helper], gate, asynchronous=asynchronous)
    talk.say()
    # Where all calls of a turn are in one task of the graph, its pauses come one after the other.
    assert len(talk.requests) == (1 if form == "a graph with all calls in one task" else 2)
    while talk.requests:
        asked = talk.requests[-1].arguments["x"]
        answer_one(talk, {"keep": "reject", "remove": "approve"}[asked], x=asked)
    assert ran.runs == [("rm", {"x": "remove"})]
    assert "rejected" in talk.result("a")
    assert talk.result("b") == "inner: ran rm"


def test_a_rejection_is_final_and_told_to_the_agent_inside(ran: Recorder, asynchronous: bool) -> None:
    talk = helped(ToolGate(), ran, call("rm", "r", x=1), call("look", "l"), asynchronous=asynchronous)
    talk.answer("reject", message="not today")
    assert (talk.requests, ran.names) == ([], ["look"])
    assert "rejected" in talk.result("h") and "not today" in talk.result("h")


def test_an_edit_runs_in_the_place_of_the_call(ran: Recorder, asynchronous: bool) -> None:
    talk = helped(ToolGate(), ran, call("rm", "r", x=1), asynchronous=asynchronous)
    talk.answer("edit", edited_action={"name": "rm", "args": {"x": 2}})
    assert (talk.requests, ran.runs) == ([], [("rm", {"x": 2})])


def test_an_answer_that_cannot_be_used_is_asked_again_and_the_third_denies(ran: Recorder, asynchronous: bool) -> None:
    talk = helped(ToolGate(), ran, call("rm", "r", x=1), asynchronous=asynchronous)
    first = talk.request.request_id
    talk.resume("APPROVE")
    assert talk.request.request_id == first and "2 more tries" in talk.request.error
    talk.resume({"type": "approve", "request_id": "another"})
    assert talk.request.request_id == first and ran.runs == []
    for answer in ("yes", "yes"):
        talk.resume(answer)
    assert (talk.requests, ran.runs) == ([], [])
    assert "not executed" in talk.result("h")


def test_always_is_recorded_for_the_tool_inside_and_releases_no_other_agents_call(
    ran: Recorder, asynchronous: bool
) -> None:
    """The "always" of one agent recorded for the outer wrapper instead of the inner tool."""
    ledger = InMemoryLedger()
    gate = ToolGate(ledger=ledger)
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1))), ran.tool("rm", CONSEQUENTIAL)]
    turns = [says(call("helper", "h")), says(call("helper", "again")), says(call("rm", "own", x=1))]
    talk = chat(turns, tools, gate=gate, asynchronous=asynchronous)
    talk.say()
    talk.answer(remember="arguments")
    (rule,) = ledger.said("none", "thread", None).thread_rules
    assert (rule.tool_name, rule.agent_path, rule.arguments) == ("rm", PATH, {"x": 1})
    assert talk.result("again") == "inner: ran rm"
    assert (talk.request.tool_call_id, talk.request.agent_path) == ("own", ())
    assert ran.count("rm") == 2


def test_a_request_that_expired_is_refused_and_the_run_goes_on(ran: Recorder, asynchronous: bool) -> None:
    clock = Clock()
    gate = ToolGate(clock=clock, request_expiry=timedelta(hours=1))
    talk = helped(gate, ran, call("rm", "r", x=1), call("look", "l"), asynchronous=asynchronous)
    assert talk.request.expires_at is not None
    clock.forward(hours=1)
    result = gate.answer(talk.agent, talk.config, {"type": "approve", "request_id": talk.request.request_id})
    assert (result.status, talk.requests, ran.names) == ("expired", [], ["look"])


def test_an_approved_tool_that_pauses_inside_is_entered_again_under_its_one_approval(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate()
    talk = helped(gate, ran, call("rm", "r", x=1), asynchronous=asynchronous, profile=CONSEQUENTIAL)
    around = talk.request
    assert (around.tool_name, around.agent_path) == ("helper", ())
    talk.answer()
    assert gate.ledger.status(around.request_id) is GrantStatus.PAUSED
    assert talk.request.tool_name == "rm"
    talk.answer()
    assert gate.ledger.status(around.request_id) is GrantStatus.FINISHED
    assert (ran.count("rm"), talk.result("h")) == (1, "inner: ran rm")


def test_a_driver_answers_for_it(ran: Recorder) -> None:
    gate, asked = ToolGate(), list[tuple[str, ...]]()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1), call("rm", "s", x=2)))]
    talk = chat([says(call("helper", "h"))], tools, gate=gate)

    def approver(request: Any) -> dict[str, str]:
        asked.append(request.agent_path)
        return {"type": "approve"}

    assert drive(talk.agent, {"messages": [HumanMessage("go")]}, talk.config, approver=approver).done
    assert (asked, ran.count("rm")) == ([PATH, PATH], 2)


def test_what_streams_from_the_root_tells_of_the_pause_and_of_the_end(ran: Recorder) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    talk = chat([says(call("helper", "h"))], tools, gate=gate)
    first = list(talk.agent.stream({"messages": [HumanMessage("go")]}, talk.config, stream_mode="updates"))
    ((shown,),) = [part["__interrupt__"] for part in first if "__interrupt__" in part]
    assert shown.value["toolgate"]["agent_path"] == list(PATH)
    talk.answer()
    assert talk.result("h") == "inner: ran rm"


async def test_messages_of_the_agent_stream_as_they_come_and_those_before_the_pause_once(ran: Recorder) -> None:
    """To a tool that streams its agent; what came before the pause is not told again when the tool is entered again."""
    gate, parts = ToolGate(), list[str]()
    agent = cleaner(gate, ran, call("rm", "r", x=1))

    async def arun() -> str:
        last = ""
        async for part in agent.astream("go"):
            for message in part["messages"]:
                last = message.text
                parts.append(message.type)
        return last

    tools = [with_profile(StructuredTool.from_function(coroutine=arun, name="helper", description="Help."), READ)]
    talk = chat([says(call("helper", "h"))], tools, gate=gate, asynchronous=True)
    await talk.agent.ainvoke({"messages": [HumanMessage("go")]}, talk.config)
    assert parts == ["ai"]
    answer = {"type": "approve", "request_id": talk.request.request_id}
    assert (await gate.aanswer(talk.agent, talk.config, answer)).status == "accepted"
    assert (parts, talk.result("h")) == (["ai", "tool", "ai"], "inner: ran rm")


class Told(BaseTracer):
    """A tracer that keeps all that it is told, as LangSmith's does."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def _persist_run(self, run: Any) -> None:
        waiting = [run]
        while waiting:
            one = waiting.pop()
            waiting += one.child_runs
            self.heard += [repr(one.inputs), repr(one.outputs)]


def test_no_tracer_is_told_what_is_kept_of_it_between_two_steps(ran: Recorder, asynchronous: bool) -> None:
    """Who it was asked for and what was decided must not be readable wherever traces go."""
    gate, told = ToolGate(), Told()
    talk = chat([says(call("helper", "h"))], [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))], gate=gate)
    config: Any = {**talk.config, "callbacks": [told]}

    def give(value: Any) -> None:
        waited_for(talk.agent.ainvoke(value, config)) if asynchronous else talk.agent.invoke(value, config)

    give({"messages": [HumanMessage("go")]})
    give(Command(resume={"type": "approve", "request_id": talk.request.request_id}))
    assert ran.count("rm") == 1 and any("inner: ran rm" in one for one in told.heard)
    assert not any("'toolgate:session'" in one for one in told.heard)


def test_with_nobody_there_nothing_inside_waits(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate(surfaces=[Surface("chat"), Surface("cron", attended=False)])
    middleware = [ToolGateMiddleware(gate, surface="cron")]
    assert isinstance(middleware[0], NeverAsks)
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1), call("look", "l")))]
    talk = chat([says(call("helper", "h"))], tools, gate=gate, middleware=middleware, asynchronous=asynchronous)
    talk.say()
    assert (talk.requests, ran.names) == ([], ["look"])
    assert "not executed" in talk.result("h")


def test_with_nobody_there_it_needs_no_checkpointer(ran: Recorder) -> None:
    gate = ToolGate()
    helper = as_tool(cleaner(gate, ran, call("look", "l")))
    agent = create_agent(makes(call("helper", "h")), [helper], middleware=[ToolGateMiddleware(gate, surface="cron")])
    said = agent.invoke({"messages": [HumanMessage("go")]})["messages"][-1].text
    assert (said, ran.names) == ("inner: inner: ran look", ["look"])
