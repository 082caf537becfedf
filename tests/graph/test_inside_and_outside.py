"""A hand-written graph inside of others, and what it shows to the outside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from tests.graph.support import State, built, graph_chat
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import (
    Tier,
    ToolGate,
    ToolProfile,
)

READ, ROUTINE = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.ROUTINE)


def test_the_question_and_the_results_are_streamed(how: dict[str, Any]) -> None:
    chat = graph_chat([says(call("deploy", "a"), text="On it.")], [Recorder().tool("deploy")], **how)

    async def astreamed(value: Any) -> list[Any]:
        return [chunk async for chunk in chat.agent.astream(value, chat.config, stream_mode="updates")]

    def streamed(value: Any) -> list[Any]:
        if how["asynchronous"]:
            return asyncio.run(astreamed(value))
        return list(chat.agent.stream(value, chat.config, stream_mode="updates"))

    chunks = streamed({"messages": [HumanMessage("go")]})
    assert next(chunk for chunk in chunks if "model" in chunk)["model"]["messages"][0].content == "On it."
    (question,) = chunks[-1]["__interrupt__"]
    assert question.value["action_requests"][0]["name"] == "deploy"
    resumed = streamed(Command(resume={"type": "approve", "request_id": chat.request.request_id}))
    assert [one.content for chunk in resumed if "tools" in chunk for one in chunk["tools"]["messages"]] == [
        "ran deploy"
    ]


def test_a_graph_in_a_tool_of_another_one_shares_the_run_of_its_root() -> None:
    """The cap and the rejections of the root hold for the graph inside."""
    ran, gate = Recorder(), ToolGate()
    inner = gate.graph([ran.tool("deploy")])
    model = ScriptedModel(script=[says(call("deploy", "i1"))])
    graph = built(inner, model).compile()

    def helper(**_: Any) -> str:
        return str(graph.invoke({"messages": [HumanMessage("help")]})["messages"][-1].content)

    empty = {"type": "object", "properties": {}}
    tool = StructuredTool(name="helper", description="Helps.", func=helper, args_schema=empty)
    chat = graph_chat([says(call("deploy", "a")), says(call("helper", "h"))], [ran.tool("deploy"), tool], gate=gate)
    chat.say()
    chat.answer("reject")
    chat.answer()  # the helper itself
    assert chat.requests == [] and ran.names == []
    assert chat.result("h") == "done"


@pytest.mark.parametrize("start", [True, False])
def test_a_graph_behind_the_gate_may_be_a_node_of_another_graph(start: bool) -> None:
    ran, gate = Recorder(), ToolGate()
    model = ScriptedModel(script=[says(call("deploy", "a"), call("deploy", "b", n=1))])
    builder = StateGraph(State)
    builder.add_node("agent", built(gate.graph([ran.tool("deploy")]), model, start=start).compile())
    builder.add_node("after", lambda state: {"messages": [HumanMessage("thanks", id="t")]})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "after")
    chat = Chat(builder.compile(checkpointer=InMemorySaver()), model, gate)
    chat.say()
    chat.answer()
    chat.answer("reject")
    assert ran.runs == [("deploy", {})]
    assert [one.type for one in chat.messages] == ["human", "ai", "tool", "tool", "ai", "human"]
    assert "rejected" in chat.result("b")


def test_what_looks_like_the_gates_state_in_the_input_has_no_effect(how: dict[str, Any]) -> None:
    ran = Recorder()
    turn = says(call("deploy", "a"))
    chat = graph_chat([turn, turn], [ran.tool("deploy")], **how)
    other = graph_chat([turn], [ran.tool("deploy")], gate=chat.gate, thread="other", **how)
    other.taught("arguments")
    state = other.agent.get_state(other.config).values
    forged = {key: value for key, value in state.items() if key.startswith("toolgate_")}
    assert "toolgate_rules" in forged
    chat.invoke({"messages": [HumanMessage("go")], **forged})
    assert chat.request.tool_call_id == "a" and ran.count("deploy") == 1
    assert not [key for key in chat.agent.get_input_jsonschema()["properties"] if key.startswith("toolgate_")]


def test_two_agents_of_one_graph_each_have_parts_of_their_own_and_share_the_run() -> None:
    """One after the other, each with its tools; what was rejected in the first is refused in the second."""
    ran, gate = Recorder(), ToolGate()
    deploy, send = ran.tool("deploy"), ran.tool("send")

    def nobody(_: Any) -> None:
        return None

    first, second = gate.graph([deploy], caller=nobody), gate.graph([deploy, send], caller=nobody)
    models = (
        ScriptedModel(script=[says(call("deploy", "a"))]),
        ScriptedModel(script=[says(call("deploy", "b"), call("send", "s"))]),
    )
    builder = StateGraph(State)
    builder.add_node("start", first.start)
    builder.add_edge(START, "start")
    builder.add_edge("start", "model0")
    for place, (guard, model) in enumerate(zip((first, second), models, strict=True)):

        def call_model(state: State, guard: Any = guard, model: Any = model) -> Any:
            return {"messages": [guard.bind(model).invoke(state["messages"])]}

        builder.add_node(f"model{place}", call_model)
        builder.add_node(f"gate{place}", guard.node)
        builder.add_node(f"tools{place}", guard.tool_node())
        builder.add_edge(f"model{place}", f"gate{place}")
        route = guard.after_gate(f"tools{place}", f"model{place}", end=END if place else "model1")
        builder.add_conditional_edges(f"gate{place}", route)
        builder.add_edge(f"tools{place}", f"model{place}")
    graph = builder.compile(checkpointer=InMemorySaver())
    first.check(graph)
    second.check(graph)
    chat = Chat(graph, models[0], gate)
    chat.say()
    chat.answer("reject")
    assert chat.request.tool_call_id == "s"
    chat.answer()
    assert ran.names == ["send"] and "not executed" in chat.result("b")
    assert [model.offered[0] for model in models] == [["deploy"], ["deploy", "send"]]
