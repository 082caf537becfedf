"""For whom and where a run is driven: read when it starts and saved with it, and shared with its subagents."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.support import Chat, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import (
    Caller,
    DataClass,
    Surface,
    Tier,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    TrustZone,
    Verdict,
)

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)
OK = AIMessage("ok")


LENT: dict[str, tuple[Any, Any, ToolProfile]] = {
    "caller": (Caller("ann"), Caller("root", admin=True), ToolProfile(tier=Tier.READ_ONLY, admin_only=True)),
    "no caller": (None, Caller("root", admin=True), ToolProfile(tier=Tier.READ_ONLY, admin_only=True)),
    "surface": ("chat", "open", ToolProfile(tier=Tier.ROUTINE)),
    "zone": (
        TrustZone.EXTERNAL_ANYWHERE,
        TrustZone.LOCAL,
        ToolProfile(tier=Tier.READ_ONLY, data_class=DataClass.DIAGNOSTICS),
    ),
}


class TestWhoeverResumesDoesNotLendRights:
    """Surface, caller and zone are read once, when the run starts, and saved with it."""

    @pytest.mark.parametrize("what", list(LENT))
    def test_a_paused_run_keeps_what_it_started_with_and_the_next_run_gets_the_new(
        self, ran: Recorder, asynchronous: bool, what: str
    ) -> None:
        before, after, profile = LENT[what]
        live = [before]
        setting: dict[str, Any] = {what.removeprefix("no "): lambda _: live[0]}
        public = ToolProfile(tier=Tier.CONSEQUENTIAL, data_class=DataClass.PUBLIC)
        script = [says(call("send", "s")), says(call("act", "lent")), OK, says(call("act", "own"))]
        talk = chat(
            script,
            [ran.tool("send", public), ran.tool("act", profile)],
            gate=ToolGate(surfaces=[Surface("chat", routine=Verdict.DENY), Surface("open", routine=Verdict.ALLOW)]),
            asynchronous=asynchronous,
            **setting,
        )
        talk.say()
        live[0] = after
        talk.answer("approve")
        assert ran.names == ["send"]
        assert "not permitted" in talk.result("lent")
        talk.say("a run of its own")
        assert ran.names == ["send", "act"]


def delegate(gate: ToolGate, script: Sequence[AIMessage], tools: Sequence[BaseTool]) -> BaseTool:
    """An agent behind the same gate, as a tool."""
    agent = create_agent(ScriptedModel(script=list(script)), list(tools), middleware=[ToolGateMiddleware(gate)])

    def work(task: str) -> str:
        """Give a task to the other agent."""
        return str(agent.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

    async def awork(task: str) -> str:
        """Give a task to the other agent."""
        return str((await agent.ainvoke({"messages": [HumanMessage(task)]}))["messages"][-1].text)

    return with_profile(StructuredTool.from_function(work, coroutine=awork, name="delegate"), READ)


class TestSubagentsShareTheRootsRun:
    """Its rejections, in both directions."""

    @pytest.mark.parametrize("n", [1, 2], ids=["the same call", "another call"])
    def test_what_was_rejected_in_the_root_is_refused_in_a_subagent(
        self, ran: Recorder, asynchronous: bool, n: int
    ) -> None:
        gate = ToolGate()
        send = ran.tool("send", CONSEQUENTIAL)
        inner = delegate(gate, [says(call("send", "i", n=n)), AIMessage("did it")], [send])
        script = [says(call("send", "o", n=1)), says(call("delegate", "d", task="please"))]
        talk = chat(script, [send, inner], gate=gate, asynchronous=asynchronous)
        talk.say()
        talk.answer("reject")
        if n == 2:
            assert (talk.request.tool_call_id, talk.request.agent_path) == ("i", ("delegate",))
            assert "variant" in talk.request.description()
            talk.answer("reject")
        assert (talk.requests, ran.runs) == ([], [])
        assert talk.result("d") == "did it"

    def test_what_was_rejected_in_a_subagent_is_refused_in_the_root(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        send = ran.tool("send", CONSEQUENTIAL)
        inner = delegate(gate, [says(call("send", "i", n=1)), AIMessage("did not")], [send])
        script = [says(call("delegate", "d", task="please")), says(call("send", "o", n=1)), says(call("send", n=2))]
        talk = chat(script, [send, inner], gate=gate, asynchronous=asynchronous)
        talk.say()
        talk.answer("reject")
        assert "rejected exactly this call" in talk.result("o")
        assert talk.request.arguments == {"n": 2}
        assert ran.runs == []


def test_an_agent_inside_an_ungated_graph_starts_its_own_run(ran: Recorder, asynchronous: bool) -> None:
    """What was rejected in one of two agents of a graph is asked about in the other."""
    gate = ToolGate()
    graph = StateGraph(MessagesState)
    for name in ("first", "second"):
        model = ScriptedModel(script=[says(call("send", name, n=1)), AIMessage(f"{name} is done")])
        agent = create_agent(model, [ran.tool("send", CONSEQUENTIAL)], middleware=[ToolGateMiddleware(gate)])
        graph.add_node(name, agent)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    talk = Chat(compiled, ScriptedModel(), gate, asynchronous=asynchronous)
    talk.say()
    assert talk.request.tool_call_id == "first"
    talk.answer("reject")
    assert (talk.request.tool_call_id, talk.request.agent_path) == ("second", ("second",))
    talk.answer("approve")
    assert ran.runs == [("send", {"n": 1})]


async def test_two_runs_at_once_in_one_loop_share_nothing() -> None:
    """The run travels in a context variable: it does not leak into another run of the same process."""
    gate, ran = ToolGate(), Recorder()
    send = ran.tool("send", CONSEQUENTIAL)
    talks = []
    for name in ("one", "two"):
        inner = delegate(gate, [says(call("send", f"{name} inner", n=1)), AIMessage("done")], [send])
        script = [says(call("delegate", name, task="please"))]
        talks.append(chat(script, [send, inner], gate=gate, thread=name))

    async def start(talk: Chat) -> Any:
        return await talk.agent.ainvoke({"messages": [HumanMessage("go")]}, talk.config)

    await asyncio.gather(*map(start, talks))
    first, second = talks
    assert [talk.request.tool_call_id for talk in talks] == ["one inner", "two inner"]
    given = {"type": "reject", "request_id": first.request.request_id}
    assert (await gate.aanswer(first.agent, first.config, given)).status == "accepted"
    given = {"type": "approve", "request_id": second.request.request_id}
    assert (await gate.aanswer(second.agent, second.config, given)).status == "accepted"
    assert ran.runs == [("send", {"n": 1})]
