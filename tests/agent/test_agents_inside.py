"""An agent used inside of a `GatedAgent`'s tool: its requests surface at the `GatedAgent`, and are answered there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool

from tests.agent.inside import as_tool, cleaner, makes
from tests.agent.talking import CONSEQUENTIAL, KEY, READ, Talk, talk
from tests.behaviours.processes import run_child
from tests.support import Recorder, ScriptedModel, call, says, with_profile
from toolgate_langchain import ApprovalSession, GatedAgent, Surface, ToolApprovalRequired, ToolGate, Verdict
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.errors import ConfigurationError, SessionError
from toolgate_langchain.hosts.gated.retrying import Retry

CHILD = Path(__file__).parent / "children" / "inside.py"


def root(gate: ToolGate, ran: Recorder, tools: list[BaseTool], *calls: Any, asynchronous: bool, **options: Any) -> Talk:
    return talk([says(*calls)], tools, ran, asynchronous=asynchronous, gate=gate, **options)


def test_its_request_surfaces_at_the_agent_around_it_with_the_path_of_agents(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous).say()
    assert (said.request.tool_name, said.request.agent_path) == ("rm", ("helper", "cleaner"))
    assert ran.runs == []
    said.answer()
    assert (said.became, said.done, ran.runs) == ("accepted", True, [("rm", {"x": 1})])
    assert said.results == {"h": "inner: ran rm"}


def test_a_rejection_in_there_is_final_and_the_agent_around_it_goes_on(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1), call("look", "l")))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous).say()
    said.answer("reject", message="no")
    assert said.done and ran.names == ["look"]
    assert "rejected" in said.results["h"]


def test_requests_of_an_agent_in_an_agent_in_an_agent_surface_at_the_root(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    inmost = as_tool(cleaner(gate, ran, call("rm", "r", x=1), call("rm", "s", x=2)), "clean")
    planner = GatedAgent(makes(call("clean", "c")), [inmost], gate, name="planner")
    said = root(gate, ran, [as_tool(planner, "plan")], call("plan", "p"), asynchronous=asynchronous).say()
    asked = []
    while not said.done:
        asked.append((said.request.tool_call_id, said.request.agent_path))
        said.answer()
    path = ("plan", "planner", "clean", "cleaner")
    assert asked == [("r", path), ("s", path)]
    assert [arguments["x"] for _, arguments in ran.runs] == [1, 2]
    assert said.results == {"p": "inner: inner: ran rm; ran rm"}


def test_two_at_once_are_asked_about_one_after_the_other_and_none_is_entered_without_its_answer(
    ran: Recorder, asynchronous: bool
) -> None:
    gate, entered = ToolGate(), list[str]()
    tools = [
        as_tool(cleaner(gate, ran, call("rm", "same", x=1)), "first", entered=entered),
        as_tool(cleaner(gate, ran, call("rm", "same", x=2)), "second", entered=entered),
        ran.tool("look", READ),
    ]
    calls = [call("first", "a"), call("second", "b"), call("look", "c")]
    said = root(gate, ran, tools, *calls, asynchronous=asynchronous).say()
    assert (said.request.agent_path, ran.names) == (("first", "cleaner"), ["look"])
    assert sorted(entered) == ["first", "second"]
    said.answer("reject")
    assert (said.request.agent_path, entered[2:]) == (("second", "cleaner"), ["first"])
    said.answer()
    assert said.done and entered[3:] == ["second"]
    assert ran.runs == [("look", {}), ("rm", {"x": 2})]
    assert list(said.results) == ["a", "b", "c"]


def test_one_that_ended_before_another_waits_in_the_same_tool_is_not_run_again(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate(surfaces=[Surface("chat", routine=Verdict.ALLOW)])
    looks = cleaner(gate, ran, call("look", "l"), name="looks")
    removes = cleaner(gate, ran, call("rm", "r", x=1), name="removes")

    async def both(task: str) -> str:
        if not asynchronous:
            return "".join(one.invoke(task)["messages"][-1].text for one in (looks, removes))
        return "".join([(await one.ainvoke(task))["messages"][-1].text for one in (looks, removes)])

    @tool
    def helper(task: str) -> str:
        """Let two agents do it."""
        flow = both(task)
        with pytest.raises(StopIteration) as ended:
            flow.send(None)
        return str(ended.value.value)

    if asynchronous:
        helper = tool("helper", description="Let two agents do it.")(both)
    said = root(
        gate, ran, [with_profile(helper, READ)], call("helper", "h", task="go"), asynchronous=asynchronous
    ).say()
    assert said.request.agent_path == ("helper", "removes")
    said.answer()
    assert said.results == {"h": "inner: ran lookinner: ran rm"}
    assert ran.names == ["look", "rm"]


def test_an_approved_tool_that_pauses_inside_is_entered_again_under_its_one_approval(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)), profile=CONSEQUENTIAL)]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous).say()
    outer = said.request
    assert (outer.tool_name, outer.agent_path) == ("helper", ())
    said.answer()
    assert gate.ledger.status(outer.request_id) is GrantStatus.PAUSED
    assert said.request.tool_name == "rm"
    said.answer()
    assert gate.ledger.status(outer.request_id) is GrantStatus.FINISHED
    assert ran.count("rm") == 1


def test_a_tool_that_catches_everything_does_not_swallow_the_question(ran: Recorder) -> None:
    gate = ToolGate()
    agent = cleaner(gate, ran, call("rm", "r", x=1))

    @tool
    def helper() -> str:
        """Let an agent do it."""
        try:
            return agent.invoke("go")["messages"][-1].text
        except Exception:
            return "it failed"

    said = root(gate, ran, [with_profile(helper, READ)], call("helper", "h"), asynchronous=False).say()
    assert said.request.tool_name == "rm"
    assert said.answer().results == {"h": "inner: ran rm"}


def test_an_answer_that_cannot_be_used_is_asked_again_and_one_for_another_request_changes_nothing(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous).say()
    said.answer("APPROVE")
    assert said.became == "asked_again" and said.request.error
    said.resume({"type": "approve", "request_id": "another"})
    assert said.became == "not_pending" and ran.runs == []
    said.answer()
    assert said.done and ran.count("rm") == 1


def test_a_session_that_is_resumed_twice_runs_nothing_twice(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous).say()
    before, answer = said.session, {"type": "approve", "request_id": said.request.request_id}
    said.resume(answer, before)
    said.resume(answer, before)
    assert said.became == "already_answered" and ran.count("rm") == 1


def test_new_words_close_what_waits_inside_and_its_request_is_withdrawn(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous).say()
    before, answer = said.session, {"type": "approve", "request_id": said.request.request_id}
    said.say("something else")
    assert said.done and said.session.inner == {}
    assert len(said.results) == 1
    said.resume(answer, before)
    assert ran.runs == []


def test_its_requests_are_raised_where_the_agent_around_it_raises(ran: Recorder) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=False, on_approval="raise")
    with pytest.raises(ToolApprovalRequired) as raised:
        said.say()
    assert raised.value.request.agent_path == ("helper", "cleaner")


def test_with_nobody_there_nothing_inside_waits(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous, surface="cron").say()
    assert said.done and ran.runs == []
    assert "not executed" in said.results["h"]


@pytest.mark.parametrize("keyed", [False, True])
def test_each_answer_is_given_in_another_process(asynchronous: bool, keyed: bool) -> None:
    """The session carries what waits inside as plain JSON, signed as a part of it where there is a key."""
    key = {"key": KEY.hex()} if keyed else {}
    said = run_child(CHILD, {"asynchronous": asynchronous, "input": {"messages": "go"}, **key})
    asked, ran = [], []
    for kind in ("approve", "reject"):
        call_id, request_id, path = said["request"]
        asked.append((call_id, path))
        asynchronous = not asynchronous
        answer = {"type": kind, "request_id": request_id}
        given = {"session": said["session"], "answer": answer}
        said = run_child(CHILD, {"asynchronous": asynchronous, "input": given, **key})
        ran += said["ran"]
    inside = ["plan", "planner", "clean", "cleaner"]
    assert asked == [("r", inside), ("s", inside)]
    assert (said["request"], ran) == (None, [1])
    assert "ran 1" in said["results"][0] and "rejected" in said["results"][0]


def test_what_waits_inside_is_refused_where_it_was_altered(ran: Recorder) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=False, keys=[KEY]).say()
    text = json.dumps(said.session.to_json(KEY)["inner"])
    altered = said.session.to_json(KEY) | {"inner": json.loads(text.replace('"x": 1', '"x": 2'))}
    with pytest.raises(SessionError, match="altered"):
        said.give({"session": altered, "answer": {"type": "approve", "request_id": said.request.request_id}})
    with pytest.raises(SessionError, match="cannot be read"):
        ApprovalSession.from_json(said.session.to_json() | {"inner": {"h": {"k": {"kind": "nothing"}}}})
    assert ran.runs == []


@pytest.mark.filterwarnings("ignore:This API is in beta")  # Runnable.as_tool
class TestWhatAGatedAgentIsNotBuiltWith:
    """Where a child cannot be gated, or could not ask, building fails and says how to fix it."""

    def test_an_agent_of_langgraph_that_may_have_to_ask(self, ran: Recorder) -> None:
        gate = ToolGate()
        agent = create_agent(ScriptedModel(), [ran.tool("rm", CONSEQUENTIAL)], middleware=[gate.subagent()], name="c")
        helper = with_profile(agent.as_tool(name="helper", description="Helps."), READ)
        with pytest.raises(ConfigurationError, match=r"'helper' starts an agent of LangGraph \('c'\).*a GatedAgent"):
            GatedAgent(ScriptedModel(), [helper], gate)
        assert GatedAgent(ScriptedModel(), [helper], gate, surface="cron").tools == [helper]

    def test_an_agent_of_langgraph_that_asks_nobody_works(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        middleware = [gate.subagent(surface="cron")]
        tools = [ran.tool("rm", CONSEQUENTIAL), ran.tool("look", READ)]
        agent = create_agent(makes(call("look", "l"), call("rm", "r")), tools, middleware=middleware)

        def run() -> str:
            return str(agent.invoke({"messages": [HumanMessage("go")]})["messages"][-1].text)

        helper = with_profile(tool("helper", description="Helps.")(run), READ)
        said = root(gate, ran, [helper], call("helper", "h"), asynchronous=asynchronous).say()
        assert said.done and ran.names == ["look"]

    @pytest.mark.parametrize("kind", ["compiled", "bound", "as a tool", "another gate", "two deep"])
    def test_an_agent_without_this_gate(self, ran: Recorder, kind: str) -> None:
        gate = ToolGate()
        loose: Any = create_agent(ScriptedModel(), [ran.tool("rm", CONSEQUENTIAL)], name="loose")
        other = GatedAgent(ScriptedModel(), [ran.tool("rm", CONSEQUENTIAL)], ToolGate(), name="loose")
        tools: dict[str, Any] = {
            "compiled": lambda: tool("helper", description="x")(lambda: loose.invoke({})),
            "bound": lambda: loose.with_config(tags=["x"]).as_tool(name="helper", description="x"),
            "as a tool": lambda: loose.as_tool(name="helper", description="x"),
            "another gate": lambda: as_tool(other),
            "two deep": lambda: as_tool(GatedAgent(ScriptedModel(), [as_tool(other, "accepted")], other.gate)),
        }
        with pytest.raises(ConfigurationError, match=r"'helper' starts agents that .*ungated_agents=True"):
            GatedAgent(ScriptedModel(), [tools[kind]()], gate)


class Unsteady(Exception):
    """Gone in a moment."""


@pytest.mark.parametrize("held", [True, False], ids=["held by the tool", "built in the tool"])
def test_a_tool_that_wraps_an_agent_is_never_retried_as_if_it_were_repeatable(
    ran: Recorder, asynchronous: bool, held: bool
) -> None:
    """Read-only or not: trying it again would do again what the agent in it did, with nobody asked."""
    gate = ToolGate(surfaces=[Surface("chat", consequential=Verdict.ALLOW)])
    built = [cleaner(gate, ran, call("rm", "r", x=1))]
    models = ScriptedModel(script=[says(call("helper", "h"))])

    async def arun() -> str:
        agent = built[0] if held else cleaner(gate, ran, call("rm", "r", x=1))
        await agent.ainvoke("go")
        raise Unsteady

    def run() -> str:
        agent = built[0] if held else cleaner(gate, ran, call("rm", "r", x=1))
        agent.invoke("go")
        raise Unsteady

    helper = tool("helper", description="Let an agent do it.")(arun if asynchronous else run)
    waits: list[float] = []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)

    retry = Retry(transient=lambda error: isinstance(error, Unsteady), sleep=waits.append, asleep=asleep)
    agent = GatedAgent(models, [with_profile(helper, READ)], gate, retry=retry)
    with pytest.raises(Unsteady):
        Talk(agent, models, ran, asynchronous).say()
    assert (ran.count("rm"), waits) == (1, [])


def test_after_a_crash_a_tool_that_wraps_an_agent_ends_with_outcome_unknown_and_is_not_run_again(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate(surfaces=[Surface("chat", consequential=Verdict.ALLOW)])
    kept: list[ApprovalSession] = []
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1)))]
    said = root(gate, ran, tools, call("helper", "h"), asynchronous=asynchronous, keep=kept.append).say()
    assert ran.count("rm") == 1
    said.give({"session": kept[0]})  # what came after the model's turn was lost
    assert ran.count("rm") == 1
    assert "unknown" in said.results["h"]
