"""States of every kind, with another key for the messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import tools_condition
from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import Tier, ToolGate, ToolProfile

READ = ToolProfile(tier=Tier.READ_ONLY)


class Typed(TypedDict):
    talk: Annotated[list[AnyMessage], add_messages]
    topic: str


@dataclass
class Data:
    talk: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    topic: str = ""


class Model(BaseModel):
    talk: Annotated[list[AnyMessage], add_messages] = []
    topic: str = ""


def _talk(state: Any) -> list[AnyMessage]:
    talk: list[AnyMessage] = state["talk"] if isinstance(state, dict) else state.talk
    return talk


def _condition(state: Any) -> str:
    return tools_condition(state, "talk")


@pytest.mark.parametrize("state", [Typed, Data, Model])
@pytest.mark.parametrize("routing", ["after_gate", "tools_condition"])
def test_states_of_every_kind_with_their_own_key_for_messages(state: Any, routing: str) -> None:
    ran = Recorder()
    model = ScriptedModel(script=[says(call("deploy", "a"), call("read", "b"))])
    gate = ToolGate()
    guard = gate.graph([ran.tool("deploy"), ran.tool("read", READ)], messages_key="talk")

    def call_model(state: Any) -> Any:
        return {"talk": [guard.bind(model).invoke(_talk(state))]}

    builder = StateGraph(state)
    builder.add_node("start", guard.start)
    builder.add_node("model", call_model)
    builder.add_node("gate", guard.node)
    builder.add_node("tools", guard.tool_node())
    builder.add_edge(START, "start")
    builder.add_edge("start", "model")
    builder.add_edge("model", "gate")
    builder.add_conditional_edges("gate", guard.after_gate() if routing == "after_gate" else _condition)
    builder.add_edge("tools", "model")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    guard.check(graph)
    chat = Chat(graph, model, gate)
    graph.invoke({"talk": [HumanMessage("go")], "topic": "x"}, chat.config)
    assert chat.request.tool_name == "deploy" and ran.names == []
    chat.answer()
    assert sorted(ran.names) == ["deploy", "read"]
    talk = graph.get_state(chat.config).values["talk"]
    assert [one.content for one in talk if isinstance(one, ToolMessage)] == ["ran deploy", "ran read"]


@pytest.mark.parametrize("state", [Data, Model])
def test_a_router_behind_the_gate_gets_the_class_of_state_that_it_asks_for(state: Any) -> None:
    ran, model, gate = Recorder(), ScriptedModel(script=[says(call("read", "a"))]), ToolGate()
    guard = gate.graph([ran.tool("read", READ)], messages_key="talk")
    seen: list[Any] = []

    def route(value: Any) -> str:
        seen.append(value)
        return tools_condition(value, "talk")

    route.__annotations__["value"] = state
    builder = StateGraph(state)
    builder.add_node("model", lambda state: {"talk": [guard.bind(model).invoke(_talk(state))]})
    builder.add_node("gate", guard.node)
    builder.add_node("tools", guard.tool_node())
    builder.add_edge(START, "model")
    builder.add_edge("model", "gate")
    builder.add_conditional_edges("gate", route)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"talk": [HumanMessage("go")], "topic": "x"}, {"configurable": {"thread_id": "t"}})
    assert [(type(value), value.topic) for value in seen] == [(state, "x"), (state, "x")]


def test_a_router_behind_the_gate_reads_the_whole_state_where_its_class_is_given() -> None:
    ran, model, gate = Recorder(), ScriptedModel(script=[says(call("read", "a"))]), ToolGate()
    guard = gate.graph([ran.tool("read", READ)], messages_key="talk", state=Typed)
    topics: list[str] = []

    def route(state):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        topics.append(state["topic"])
        return tools_condition(state, "talk")

    builder = StateGraph(Typed)
    builder.add_node("model", lambda state: {"talk": [guard.bind(model).invoke(state["talk"])]})
    builder.add_node("gate", guard.node)
    builder.add_node("tools", guard.tool_node())
    builder.add_edge(START, "model")
    builder.add_edge("model", "gate")
    builder.add_conditional_edges("gate", route)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"talk": [HumanMessage("go")], "topic": "x"}, {"configurable": {"thread_id": "t"}})
    assert topics == ["x", "x"] and ran.names == ["read"]
