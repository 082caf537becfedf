"""An agent used as a tool: its requests surface at the root, with the path of agents, and are answered there."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool as make_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.subagents.support import DANGEROUS, READ, answer_all, as_tool, inner, makes, told
from tests.support import Chat, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import ApprovalRequest, Surface, ToolGate, ToolGateMiddleware, Verdict, adrive, drive
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.errors import ConfigurationError, MissingCheckpointerError

SAVERS = [None, True, InMemorySaver]


@pytest.mark.parametrize("saver", SAVERS, ids=["none of its own", "its parent's, kept", "one of its own"])
def test_a_subagent_with_any_checkpointer_is_asked_about_at_the_root(
    ran: Recorder, asynchronous: bool, saver: Any
) -> None:
    gate = ToolGate()
    own = saver() if callable(saver) else saver
    helper = inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)], name="cleaner", checkpointer=own)
    talk = chat([says(call("helper", "h"))], [as_tool(helper)], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert (talk.request.tool_name, talk.request.agent_path) == ("rm", ("helper", "cleaner"))
    assert "Agent: helper > cleaner" in talk.request.description()
    assert ran.runs == []
    assert answer_all(talk) == ["rm"]
    assert ran.runs == [("rm", {"x": 1})]
    assert talk.result("h") == "inner: ran rm"


def test_async_context_is_not_lost_on_resume(ran: Recorder) -> None:
    """Async context lost on resume: what the agent does after a pause is still a part of the root's run."""
    gate = ToolGate()
    model = ScriptedModel(script=[says(call("rm", "one", x=1)), says(call("rm", "two", x=2)), says(text="did both")])
    helper = inner(gate, model, [ran.tool("rm", DANGEROUS)])
    talk = chat([says(call("helper", "h"))], [as_tool(helper)], gate=gate, asynchronous=True)
    talk.say()
    paths = []
    while talk.requests:
        paths.append((talk.request.tool_call_id, talk.request.agent_path))
        talk.answer()
    assert paths == [("one", ("helper",)), ("two", ("helper",))]
    assert talk.result("h") == "did both"


def test_requests_of_an_agent_in_an_agent_in_an_agent_surface_at_the_root(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    innermost = inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)], name="cleaner")
    middle = inner(gate, makes(call("clean", "c")), [as_tool(innermost, "clean")], name="planner")
    talk = chat([says(call("plan", "p"))], [as_tool(middle, "plan")], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert talk.request.agent_path == ("plan", "planner", "clean", "cleaner")
    answer_all(talk)
    assert ran.count("rm") == 1
    assert talk.result("p") == "inner: inner: ran rm"


def test_identical_ids_in_parallel_branches_do_not_mix(ran: Recorder, asynchronous: bool) -> None:
    """Identical ids in parallel branches: two agents at once make calls under one id, each has its own answer."""
    gate = ToolGate()
    helper = as_tool(inner(gate, told("rm"), [ran.tool("rm", DANGEROUS)]))
    both = says(call("helper", "a", task="keep"), call("helper", "b", task="remove"))
    talk = chat([both], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert {request.tool_call_id for request in talk.requests} == {"same"}
    assert len({request.request_id for request in talk.requests}) == 2
    for task, kind in [("remove", "approve"), ("keep", "reject")]:
        (request,) = [one for one in talk.requests if one.arguments["x"] == task]
        talk.resume({next(i.id for i in _interrupts(talk) if _asks(i, request)): _answer(request, kind)})
    assert ran.runs == [("rm", {"x": "remove"})]
    assert "rejected" in talk.result("a")
    assert talk.result("b") == "inner: ran rm"


def _interrupts(talk: Chat) -> Any:
    return talk.agent.get_state(talk.config).interrupts


def _asks(interrupt: Any, request: ApprovalRequest) -> bool:
    return bool(ApprovalRequest.from_interrupt(interrupt.value).request_id == request.request_id)


def _answer(request: ApprovalRequest, kind: str) -> dict[str, str]:
    return {"type": kind, "request_id": request.request_id}


def test_calls_that_need_nobody_run_under_one_id_in_parallel_branches(ran: Recorder, asynchronous: bool) -> None:
    """Without a request it is the place of the call that tells one branch's call from the other's."""
    gate = ToolGate(surfaces=[Surface("chat", consequential=Verdict.ALLOW)])
    helper = as_tool(inner(gate, told("send"), [ran.tool("send", DANGEROUS)]))
    both = says(call("helper", "a", task="one"), call("helper", "b", task="two"))
    talk = chat([both], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert sorted(arguments["x"] for _, arguments in ran.runs) == ["one", "two"]


def test_an_approved_tool_that_pauses_inside_is_entered_again_under_its_one_approval(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate()
    helper = as_tool(inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)]), profile=DANGEROUS)
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    outer = talk.request
    assert (outer.tool_name, outer.agent_path) == ("helper", ())
    talk.answer()
    assert gate.ledger.status(outer.request_id) is GrantStatus.PAUSED
    assert talk.request.tool_name == "rm"
    talk.answer()
    assert gate.ledger.status(outer.request_id) is GrantStatus.FINISHED
    assert ran.count("rm") == 1
    assert talk.result("h") == "inner: ran rm"


def test_a_driver_answers_for_agents_at_any_depth(ran: Recorder) -> None:
    gate, asked = ToolGate(), []
    helper = as_tool(inner(gate, makes(call("rm", "r", x=1), call("rm", "s", x=2)), [ran.tool("rm", DANGEROUS)]))

    def approver(request: ApprovalRequest) -> dict[str, str]:
        asked.append((request.agent_path, request.tool_call_id))
        return {"type": "approve"}

    talk = chat([says(call("helper", "h"), call("rm", "own", x=3))], [helper, ran.tool("rm", DANGEROUS)], gate=gate)
    assert drive(talk.agent, {"messages": [HumanMessage("go")]}, talk.config, approver=approver).done
    assert asked == [((), "own"), (("helper",), "r"), (("helper",), "s")]
    assert ran.count("rm") == 3


async def test_a_driver_answers_for_agents_at_any_depth_asynchronously(ran: Recorder) -> None:
    gate = ToolGate()
    helper = as_tool(inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)]))
    talk = chat([says(call("helper", "h"))], [helper], gate=gate)
    start = {"messages": [HumanMessage("go")]}
    result = await adrive(talk.agent, start, talk.config, approver=lambda _: {"type": "approve"})
    assert result.done
    assert ran.count("rm") == 1


class TestWhatCouldNotBeAskedAbout:
    """A subagent that would hang, or whose question nobody would see, does not start."""

    def test_an_agent_on_a_thread_of_its_own(self, ran: Recorder) -> None:
        gate = ToolGate()
        helper = inner(gate, makes(call("rm", x=1)), [ran.tool("rm", DANGEROUS)], checkpointer=InMemorySaver())
        tool = as_tool(helper, config={"configurable": {"thread_id": "its own"}})
        talk = chat([says(call("helper"))], [tool], gate=gate)
        with pytest.raises(ConfigurationError, match="thread of its own; start it without a config"):
            talk.say()

    def test_an_agent_on_a_thread_of_its_own_that_asks_nobody_runs(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        calls = makes(call("look", x=1), call("rm", x=1))
        tools = [ran.tool("look", READ), ran.tool("rm", DANGEROUS)]
        helper = inner(gate, calls, tools, checkpointer=InMemorySaver(), options={"surface": "cron"})
        tool = as_tool(helper, config={"configurable": {"thread_id": "its own"}})
        talk = chat([says(call("helper", "h"))], [tool], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert ran.names == ["look"]
        assert "not executed" in talk.result("h")

    def test_an_agent_that_keeps_no_checkpoints(self, ran: Recorder) -> None:
        gate = ToolGate()
        helper = inner(gate, makes(call("rm", x=1)), [ran.tool("rm", DANGEROUS)], checkpointer=False)
        talk = chat([says(call("helper"))], [as_tool(helper)], gate=gate)
        with pytest.raises(MissingCheckpointerError, match="checkpointer"):
            talk.say()

    def test_an_agent_behind_another_gate(self, ran: Recorder) -> None:
        helper = inner(ToolGate(), makes(call("rm", x=1)), [ran.tool("rm", DANGEROUS)])
        talk = chat([says(call("helper"))], [as_tool(helper)])
        with pytest.raises(ConfigurationError, match="'helper' starts agents that this gate is not in"):
            talk.say()
        assert talk.model.script != []

    def test_an_agent_behind_another_gate_that_could_not_be_found_before(self, ran: Recorder) -> None:
        def run() -> str:
            """Build an agent and let it do it."""
            helper = inner(ToolGate(), makes(call("rm", x=1)), [ran.tool("rm", DANGEROUS)])
            return str(helper.invoke({"messages": [HumanMessage("go")]})["messages"][-1].content)

        talk = chat([says(call("run"))], [with_profile(make_tool(run), READ)])
        with pytest.raises(ConfigurationError, match=r"behind another gate.*give both the same ToolGate"):
            talk.say()

    def test_a_subagent_that_nobody_started(self, ran: Recorder) -> None:
        helper = inner(ToolGate(), makes(call("rm", x=1)), [ran.tool("rm", DANGEROUS)], checkpointer=InMemorySaver())
        with pytest.raises(ConfigurationError, match="start it from a tool of that agent"):
            helper.invoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "t"}})


class TestGraphs:
    """Agents as the nodes of a hand-written graph start runs of their own, on the graph's thread."""

    @staticmethod
    def graph(gate: ToolGate, ran: Recorder) -> Any:
        builder = StateGraph(MessagesState)
        for name, number in [("first", 1), ("second", 2)]:
            # Each looks at its own turn only, in the messages that the two share.
            model = ScriptedModel(script=[says(call("deploy", f"d{number}", n=7)), says(text="done")] * 2)
            tools = [ran.tool("deploy", DANGEROUS)]
            builder.add_node(name, create_agent(model, tools, middleware=[ToolGateMiddleware(gate)], name=name))
        builder.add_edge(START, "first")
        builder.add_edge("first", "second")
        builder.add_edge("second", END)
        return builder.compile(checkpointer=InMemorySaver())

    def test_each_is_asked_about_at_the_root_under_its_node(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        talk = Chat(self.graph(gate, ran), ScriptedModel(), gate, asynchronous=asynchronous)
        talk.say()
        assert talk.request.agent_path == ("first",)
        talk.answer()
        assert talk.request.agent_path == ("second",)
        talk.answer()
        assert [(message.tool_call_id, message.content) for message in talk.results] == [
            ("d1", "ran deploy"), ("d2", "ran deploy"),
        ]  # fmt: skip

    def test_the_always_of_one_node_is_not_used_in_the_next_and_holds_in_its_own(self, ran: Recorder) -> None:
        gate = ToolGate()
        talk = Chat(self.graph(gate, ran), ScriptedModel(), gate)
        talk.say()
        talk.answer(remember="arguments")
        assert talk.request.agent_path == ("second",)
        talk.answer()
        talk.say("again")
        assert talk.request.agent_path == ("second",)
        assert ran.count("deploy") == 3
