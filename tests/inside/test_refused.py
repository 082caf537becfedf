"""What could not wait for a person inside of a tool is refused before a model is called, with what to do instead."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.agent.inside import as_tool, cleaner, makes
from tests.agent.talking import CONSEQUENTIAL, KEY, READ
from tests.support import Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import ApprovalSession, GatedAgent, ToolGate
from toolgate_langchain.errors import ConfigurationError


def started(agent: Any, given: Any, config: Any = None) -> BaseTool:
    """A tool that starts an agent with a config, or on a session, of its own."""

    def run() -> str:
        return str(agent.invoke(given, config)["messages"][-1].text)

    async def arun() -> str:
        return str((await agent.ainvoke(given, config))["messages"][-1].text)

    return with_profile(StructuredTool.from_function(run, arun, "helper", "Let an agent do it."), READ)


def test_one_on_a_thread_of_its_own_fails_at_its_start(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    model = makes(call("look", "l"))
    agent = GatedAgent(model, [ran.tool("look", READ)], gate, name="cleaner")
    helper = started(agent, "go", {"configurable": {"thread_id": "own"}})
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    with pytest.raises(ConfigurationError, match=r"'cleaner' inside of the tool 'helper' .*start it without a config"):
        talk.say()
    assert (model.seen, ran.runs) == ([], [])


def test_one_on_a_thread_of_its_own_that_asks_nobody_works(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    agent = cleaner(gate, ran, call("look", "l"), call("rm", "r", x=1), surface="cron")
    helper = started(agent, "go", {"configurable": {"thread_id": "own"}})
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert (talk.requests, ran.names) == ([], ["look"])


def test_one_in_a_graph_on_a_thread_of_its_own_fails_at_its_start(ran: Recorder) -> None:
    """Its pause would be that graph's, of which nobody hears."""
    gate = ToolGate()
    agent = cleaner(gate, ran, call("rm", "r", x=1))

    def work(state: MessagesState) -> Any:
        return {"messages": [AIMessage(agent.invoke("go")["messages"][-1].text)]}

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    between = builder.compile(checkpointer=InMemorySaver())
    helper = started(between, {"messages": []}, {"configurable": {"thread_id": "own"}})
    talk = chat([says(call("helper", "h"))], [helper], gate=gate)
    with pytest.raises(ConfigurationError, match="would not reach whoever drives the run"):
        talk.say()
    assert ran.runs == []


def test_one_in_a_graph_without_tools_on_the_runs_thread_asks_at_the_root(ran: Recorder) -> None:
    gate = ToolGate()
    agent = cleaner(gate, ran, call("rm", "r", x=1))

    def work(state: MessagesState) -> Any:
        return {"messages": [AIMessage(agent.invoke("go")["messages"][-1].text)]}

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    talk = chat([says(call("helper", "h"))], [started(builder.compile(), {"messages": []})], gate=gate)
    talk.say()
    assert talk.request.agent_path == ("helper", "cleaner")
    talk.answer()
    assert (talk.result("h"), ran.count("rm")) == ("inner: ran rm", 1)


def test_an_agent_of_langgraph_in_its_tool_that_may_have_to_ask_fails_at_its_start(
    ran: Recorder, asynchronous: bool
) -> None:
    """Its pause could leave the graph around both, but not the `GatedAgent` between them."""
    gate, model = ToolGate(), ScriptedModel(script=[says(call("rm", "r", x=1))])
    inmost = create_agent(model, [ran.tool("rm", CONSEQUENTIAL)], middleware=[gate.subagent()])
    # With a function for its surface nobody can see, when it is built, whether somebody is there.
    given = {"messages": [HumanMessage("go")]}
    middle = GatedAgent(makes(call("helper", "c")), [started(inmost, given)], gate, surface=lambda _: "chat")
    talk = chat([says(call("plan", "p"))], [as_tool(middle, "plan")], gate=gate, asynchronous=asynchronous)
    with pytest.raises(ConfigurationError, match="Make that one a GatedAgent of the same gate too"):
        talk.say()
    assert (model.seen, ran.runs) == ([], [])


def test_one_behind_another_gate_fails_at_its_start(ran: Recorder) -> None:
    gate = ToolGate()

    def run() -> str:
        return str(cleaner(ToolGate(), ran, call("rm", "r", x=1)).invoke("go")["messages"][-1].text)

    helper = with_profile(StructuredTool.from_function(run, name="helper", description="Builds its agent."), READ)
    talk = chat([says(call("helper", "h"))], [helper], gate=gate)
    with pytest.raises(ConfigurationError, match="behind another gate"):
        talk.say()
    assert ran.runs == []


def test_one_that_is_built_when_the_tool_runs_asks_at_the_root(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()

    def run() -> str:
        return str(cleaner(gate, ran, call("rm", "r", x=1)).invoke("go")["messages"][-1].text)

    async def arun() -> str:
        return str((await cleaner(gate, ran, call("rm", "r", x=1)).ainvoke("go"))["messages"][-1].text)

    helper = with_profile(StructuredTool.from_function(run, arun, "helper", "Builds its agent."), READ)
    talk = chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous)
    talk.say()
    talk.answer()
    assert (talk.result("h"), ran.count("rm")) == ("inner: ran rm", 1)


@pytest.mark.parametrize("options", [{"keys": [KEY]}, {"on_approval": "raise"}, {"surface": lambda _: "chat"}])
def test_whatever_else_it_was_built_with_it_asks_at_the_root(ran: Recorder, options: dict[str, Any]) -> None:
    gate = ToolGate()
    tools = [as_tool(cleaner(gate, ran, call("rm", "r", x=1), **options))]
    talk = chat([says(call("helper", "h"))], tools, gate=gate)
    talk.say()
    assert talk.request.agent_path == ("helper", "cleaner")
    talk.answer()
    assert (talk.result("h"), ran.count("rm")) == ("inner: ran rm", 1)


def test_it_goes_on_with_an_earlier_conversation_that_its_tool_kept(ran: Recorder, asynchronous: bool) -> None:
    """New words with a session, as for any `GatedAgent`; the session is told what was said in between."""
    gate, kept = ToolGate(), list[ApprovalSession]()
    agent = cleaner(gate, ran, call("look", "l"))
    earlier = agent.invoke("first", {"configurable": {"thread_id": "t"}})["session"]

    def run() -> str:
        output = agent.invoke({"session": earlier, "messages": "second"})
        kept.append(output["session"])
        return "told"

    async def arun() -> str:
        kept.append((await agent.ainvoke({"session": earlier, "messages": "second"}))["session"])
        return "told"

    helper = with_profile(StructuredTool.from_function(run, arun, "helper", "Goes on."), READ)
    chat([says(call("helper", "h"))], [helper], gate=gate, asynchronous=asynchronous, thread="t").say()
    assert [one.text for one in kept[0].messages if one.type == "human"] == ["first", "second"]


def test_what_needs_a_person_on_a_session_that_the_tool_resumes_by_itself_is_refused(
    ran: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    """No words begin it, so there is nothing that its questions could be kept with; nothing waits for nobody."""
    gate, kept = ToolGate(), list[ApprovalSession]()
    model = ScriptedModel(script=[says(call("look", "l")), says(call("rm", "r", x=1))])
    agent = GatedAgent(model, [ran.tool("rm", CONSEQUENTIAL), ran.tool("look", READ)], gate, keep=kept.append)
    agent.invoke("first", {"configurable": {"thread_id": "t"}})
    between = kept[1]
    assert between.status == "open"
    model.script.append(says(call("rm", "s", x=2)))
    talk = chat([says(call("helper", "h"))], [started(agent, {"session": between})], gate=gate, thread="t")
    talk.say()
    assert (talk.requests, ran.names) == ([], ["look"])
    assert "refused 'rm': the agent runs inside of the tool 'helper'" in caplog.text
