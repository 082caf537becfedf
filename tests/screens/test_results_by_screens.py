"""A screen that gives each call a result of its own making: what nobody approved is not told as carried out."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.support import Chat, Recorder, ScriptedModel, Turn, call, chat, says, waited_for, with_profile
from toolgate_langchain import GatedAgent, InMemoryLedger, Tier, ToolGate, ToolProfile

HANDLED = "Successfully handled tool call."


def with_results(words: str, *call_ids: str) -> list[BaseMessage]:
    """What Agent Chat UI sends with the user's words where calls have no result.

    `ensureToolCallsHaveResponses`, src/lib/ensure-tool-responses.ts of langchain-ai/agent-chat-ui, read in a copy,
    hhscc-lz/agent-chat-ui, commit a6985dd88ef75703cd6706c38b5646c06c5bf0aa, whose words are in another language.
    """
    results = [ToolMessage(HANDLED, tool_call_id=one, id=f"do-not-render-{one}") for one in call_ids]
    return [*results, HumanMessage(words)]


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture
def tools(ran: Recorder) -> list[BaseTool]:
    return [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL)), ran.tool("look", ToolProfile(tier=Tier.READ_ONLY))]


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def told(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """The kinds of messages, and of results what they say."""
    return [(one.type, one.text.split(": ")[0] if one.type == "tool" else "") for one in messages]


CLOSED = "The call of 'send' was not executed. Superseded, not executed"


def test_each_call_that_waited_is_superseded_in_its_place_whatever_the_screen_says_of_it(
    ran: Recorder, tools: list[BaseTool], asynchronous: bool
) -> None:
    ledger = InMemoryLedger()
    turn = says(call("send", "a", n=1), call("look", "l"), call("send", "b", n=2), call("sned", "x"))
    talk = chat([turn, AIMessage("well")], tools, gate=ToolGate(ledger=ledger), asynchronous=asynchronous)
    talk.say()
    talk.answer()
    talk.invoke({"messages": with_results("something else", "a", "l", "b", "x")})
    human, ai, *results, words = told(talk.model.seen[-1])
    assert (human, ai, words) == (("human", ""), ("ai", ""), ("human", ""))
    assert sorted(text for _, text in results) == [
        CLOSED.replace("send", "look"),
        CLOSED,
        CLOSED,
        "The call of 'sned' was not executed. There is no such tool.",
    ]
    assert not any(HANDLED in message.text for message in talk.messages)
    assert (ran.runs, list(ledger.pending())) == ([], [])


def test_a_rejection_before_it_still_holds(ran: Recorder, tools: list[BaseTool], asynchronous: bool) -> None:
    script: list[Turn] = [says(call("send", "a", n=1), call("send", "b", n=2)), says(call("send", "c", n=1))]
    talk = chat(script, tools, asynchronous=asynchronous)
    talk.say()
    talk.answer("reject", message="not to them")
    talk.invoke({"messages": with_results("something else", "a", "b")})
    assert "not to them" in talk.result("a")
    assert (talk.requests, ran.runs) == ([], [])
    assert "rejected exactly this call" in talk.result("c")


def test_of_a_call_that_started_and_waits_the_outcome_is_unknown(asynchronous: bool) -> None:
    """It asks something itself; nobody knows what it did before."""

    def ask() -> str:
        """Ask."""
        return str(interrupt("which one?"))

    asking = with_profile(StructuredTool.from_function(ask), ToolProfile(tier=Tier.ROUTINE))
    talk = chat([says(call("ask", "q")), AIMessage("well")], [asking], asynchronous=asynchronous)
    talk.say()
    talk.answer()
    talk.invoke({"messages": with_results("something else", "q")})
    unknown = talk.result("q")
    assert "outcome is unknown" in unknown
    history = talk.messages
    talk.say("and now")
    assert talk.messages[: len(history)] == history


def test_a_result_that_a_tool_gave_stays_also_where_another_process_knows_nothing_of_it(
    ran: Recorder, tools: list[BaseTool], asynchronous: bool
) -> None:
    saver = InMemorySaver()
    first = chat([says(call("send", "s")), AIMessage("sent")], tools, checkpointer=saver, asynchronous=asynchronous)
    first.say()
    first.answer()
    assert first.result("s") == "ran send"
    for gate in (first.gate, ToolGate()):
        again = chat([AIMessage("well")], tools, gate=gate, checkpointer=saver, asynchronous=asynchronous)
        again.say("go on")
        assert again.result("s") == "ran send"
    assert ran.count("send") == 1


def test_so_it_is_with_a_gated_agent(ran: Recorder, tools: list[BaseTool], asynchronous: bool) -> None:
    model = ScriptedModel(script=[says(call("send", "a"), call("look", "l")), AIMessage("well")])
    agent = GatedAgent(model, tools)
    output = agent.invoke("go")
    given: Any = {"session": output["session"], "messages": with_results("something else", "a", "l")}
    output = waited_for(agent.ainvoke(given)) if asynchronous else agent.invoke(given)
    closed = [("tool", CLOSED), ("tool", CLOSED.replace("send", "look"))]
    assert told(output["messages"]) == [("human", ""), ("ai", ""), *closed, ("human", ""), ("ai", "")]
    assert ran.runs == []


def test_so_it_is_with_a_hand_written_graph(ran: Recorder, tools: list[BaseTool], asynchronous: bool) -> None:
    gate, model = ToolGate(), ScriptedModel(script=[says(call("send", "a"), call("look", "l")), AIMessage("well")])
    guard = gate.graph(tools, surface="chat")

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [guard.bind(model).invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("start", guard.start)
    builder.add_node("model", think)
    builder.add_node("gate", guard.node)
    builder.add_node("tools", guard.tool_node())
    for one, other in ((START, "start"), ("start", "model"), ("model", "gate"), ("tools", "model")):
        builder.add_edge(one, other)
    builder.add_conditional_edges("gate", guard.after_gate("tools", "model"))
    graph = builder.compile(checkpointer=InMemorySaver())
    talk = Chat(graph, model, gate, asynchronous=asynchronous)
    talk.say()
    assert talk.request.tool_call_id == "a"
    talk.invoke({"messages": with_results("something else", "a", "l")})
    closed = [("tool", CLOSED), ("tool", CLOSED.replace("send", "look"))]
    assert told(talk.messages) == [("human", ""), ("ai", ""), *closed, ("human", ""), ("ai", "")]
    assert ran.runs == []
