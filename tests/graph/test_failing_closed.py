"""Graphs that are put together wrongly: what cannot be asked about does not run, and `check` says what is wrong."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableBranch, RunnableLambda, RunnableParallel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from typing_extensions import TypedDict

from tests.graph.support import State, built, graph_chat
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import Caller, Tier, ToolGate, ToolProfile
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.graphs.graph import GraphGate
from toolgate_langchain.hosts.inside.inner_agents import ungated

READ, ROUTINE = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.ROUTINE)


def _past_the_gate(guard: GraphGate, model: ScriptedModel, *, tools: Any = None) -> Any:
    """A graph whose model leads straight to its tools; the gate's node is there and never reached."""
    builder = StateGraph(State)
    builder.add_node("start", guard.start)
    builder.add_node("gate", guard.node)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", tools or guard.tool_node())
    builder.add_edge(START, "start")
    builder.add_edge("start", "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    builder.add_edge("gate", END)
    return builder


def test_where_the_asking_node_is_skipped_all_that_needs_a_person_is_refused() -> None:
    ran, gate = Recorder(), ToolGate()
    model = ScriptedModel(script=[says(call("deploy", "a"), call("note", "b"), call("read", "c"))])
    guard = gate.graph([ran.tool("deploy"), ran.tool("note", ROUTINE), ran.tool("read", READ)])
    chat = Chat(_past_the_gate(guard, model).compile(checkpointer=InMemorySaver()), model, gate)
    chat.say()
    assert ran.names == ["read"] and chat.requests == []
    assert all("not executed" in chat.result(one) for one in "ab")


def test_an_approval_of_an_earlier_turn_releases_nothing_where_a_later_one_skips_the_gate() -> None:
    ran, gate = Recorder(), ToolGate()
    model = ScriptedModel(script=[says(call("deploy", "a")), says(call("deploy", "a"))])
    guard = gate.graph([ran.tool("deploy")])
    builder = built(guard, model)
    builder.add_node("again", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.edges.discard(("tools", "model"))
    builder.add_conditional_edges("tools", lambda state: "again" if len(state["messages"]) < 5 else END)
    builder.add_conditional_edges("again", tools_condition)
    chat = Chat(builder.compile(checkpointer=InMemorySaver()), model, gate)
    chat.say()
    chat.answer()
    assert ran.names == ["deploy"]
    assert [one.status for one in chat.results] == ["success", "error"]


def test_an_asking_node_in_another_graph_than_the_tools_releases_nothing() -> None:
    ran, gate = Recorder(), ToolGate()
    guard = gate.graph([ran.tool("deploy")])
    inner = StateGraph(State)
    inner.add_node("tools", guard.tool_node())
    inner.add_edge(START, "tools")
    model = ScriptedModel(script=[says(call("deploy", "a"))])
    outer = _past_the_gate(guard, model, tools=inner.compile()).compile(checkpointer=InMemorySaver())
    with pytest.raises(ConfigurationError, match="must be in the same graph as the tools"):
        Chat(outer, model, gate).say()
    assert ran.names == []


def test_enforce_outside_of_a_graph_releases_nothing() -> None:
    ran = Recorder()
    node = ToolGate().graph([ran.tool("read", READ)]).tool_node()
    with pytest.raises(Exception, match=r"there is no running graph|Missing required config key"):
        node.invoke({"messages": [says(call("read", "a"))]})
    assert ran.names == []


def test_another_wrapper_between_the_gate_and_the_tool_is_refused() -> None:
    ran, gate = Recorder(), ToolGate()
    guard = gate.graph([ran.tool("read", READ)])

    def around(request: Any, run: Any) -> Any:
        def other(request: Any) -> Any:
            return run(request)

        return guard.enforce(request, other)

    node = ToolNode(list(guard.tools), wrap_tool_call=around)
    model = ScriptedModel(script=[says(call("read", "a"))])
    chat = Chat(_past_the_gate(guard, model, tools=node).compile(checkpointer=InMemorySaver()), model, gate)
    with pytest.raises(ConfigurationError, match="could change a call after its last check"):
        chat.say()
    assert ran.names == []


def test_a_model_with_tools_of_its_own_is_refused() -> None:
    guard = ToolGate().graph([Recorder().tool("read", READ)])
    bound = ScriptedModel().bind(tools=[{"type": "web_search"}])
    with pytest.raises(ConfigurationError, match="web_search"):
        guard.bind(bound)


def test_messages_without_ids_are_refused_with_the_remedy() -> None:
    class Plain(TypedDict):
        messages: Annotated[list[AnyMessage], lambda old, new: [*(old or []), *new]]

    gate = ToolGate()
    guard = gate.graph([Recorder().tool("deploy")])
    builder = StateGraph(Plain)
    builder.add_node("model", lambda state: {"messages": [says(call("deploy", "a"))]})
    builder.add_node("gate", guard.node)
    builder.add_edge(START, "model")
    builder.add_edge("model", "gate")
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(ConfigurationError, match="reducer add_messages"):
        graph.invoke({"messages": [HumanMessage("go")]}, {"configurable": {"thread_id": "t"}})


# --- check ------------------------------------------------------------------------------------


def _compiled(guard: GraphGate, tools: Any = None, **how: Any) -> Any:
    builder = built(guard, ScriptedModel(), **how)
    if tools is not None:
        del builder.nodes["tools"]
        builder.add_node("tools", tools)
    return builder.compile()


@pytest.mark.parametrize("start", [True, False])
def test_check_is_content_with_a_graph_as_the_page_has_it(start: bool) -> None:
    guard = ToolGate().graph([Recorder().tool("deploy")])
    guard.check(_compiled(guard, start=start))


def _wrapped(node: ToolNode) -> dict[str, Any]:
    """A tool node with what LangChain can put around it."""
    through = RunnableLambda(lambda value: value)
    return {
        "config": node.with_config(tags=["x"]),
        "retry": node.with_retry(),
        "sequence": through | node,
        "fallbacks": through.with_fallbacks([node]),
        "parallel": RunnableParallel(one=node),
        "branch": RunnableBranch((lambda _: False, through), node),
        "both": (through | node).with_retry(),
    }


@pytest.mark.parametrize("way", list(_wrapped(ToolNode([]))))
def test_check_finds_a_tool_node_without_the_gate_whatever_is_around_it(way: str) -> None:
    tool = Recorder().tool("deploy")
    gate = ToolGate()
    guard = gate.graph([tool])
    guard.check(_compiled(guard, _wrapped(guard.tool_node())[way]))
    loose = _compiled(guard, _wrapped(ToolNode([tool]))[way])
    with pytest.raises(ConfigurationError, match="tool node 'tools' runs calls without asking this gate"):
        guard.check(loose)
    assert ungated(loose, gate) and not ungated(_compiled(guard, _wrapped(guard.tool_node())[way]), gate)


def test_check_finds_a_tool_node_without_the_gate() -> None:
    tool = Recorder().tool("deploy")
    guard = ToolGate().graph([tool])
    ways: list[dict[str, Any]] = [
        {},
        {"awrap_tool_call": guard.aenforce},  # synchronous calls go around it
        {"wrap_tool_call": guard.enforce, "awrap_tool_call": lambda request, run: run(request)},
        {"wrap_tool_call": ToolGate().graph([tool]).enforce},  # of another gate
    ]
    for way in ways:
        with pytest.raises(ConfigurationError, match="tool node 'tools' runs calls without asking this gate"):
            guard.check(_compiled(guard, ToolNode([tool], **way)))


def test_check_finds_a_tool_node_without_the_gate_in_a_graph_that_is_a_node() -> None:
    tool = Recorder().tool("deploy")
    guard = ToolGate().graph([tool])
    inner = StateGraph(State)
    inner.add_node("more", ToolNode([tool]))
    inner.add_edge(START, "more")
    builder = built(guard, ScriptedModel())
    builder.add_node("sub", inner.compile())
    builder.add_edge("tools", "sub")
    with pytest.raises(ConfigurationError, match="'sub:more'"):
        guard.check(builder.compile())


def test_check_finds_other_tools_than_the_gate_was_told_of() -> None:
    ran = Recorder()
    tool = ran.tool("deploy")
    guard = ToolGate().graph([tool])
    for tools in ([tool, ran.tool("other")], [], [ran.tool("deploy")]):
        node = ToolNode(tools, wrap_tool_call=guard.enforce, awrap_tool_call=guard.aenforce)
        with pytest.raises(ConfigurationError, match="have other tools"):
            guard.check(_compiled(guard, node))


def test_check_finds_that_nobody_would_be_asked() -> None:
    gate, tool = ToolGate(), Recorder().tool("deploy")
    guard = gate.graph([tool])
    with pytest.raises(ConfigurationError, match="no node of the graph asks"):
        guard.check(_compiled(gate.graph([tool])))


def test_check_finds_a_way_around_the_starting_node() -> None:
    guard = ToolGate().graph([Recorder().tool("deploy")])
    builder = built(guard, ScriptedModel())
    builder.add_conditional_edges(START, lambda _: "model", ["model", "start"])
    with pytest.raises(ConfigurationError, match="can begin at 'model' without starting a run"):
        guard.check(builder.compile())


def test_check_finds_a_missing_starting_node_where_a_setting_is_a_function() -> None:
    guard = ToolGate().graph([Recorder().tool("deploy")], caller=lambda _: Caller("ann"))
    with pytest.raises(ConfigurationError, match="no node starts runs"):
        guard.check(_compiled(guard, start=False))


def test_check_refuses_what_is_no_compiled_graph() -> None:
    guard = ToolGate().graph([Recorder().tool("deploy")])
    with pytest.raises(ConfigurationError, match="not a compiled StateGraph"):
        guard.check(built(guard, ScriptedModel()))


def test_whoever_starts_a_run_is_whom_it_works_for_and_who_resumes_lends_no_rights() -> None:
    callers = [Caller("ann", admin=True)]
    ran = Recorder()
    admins = ran.tool("deploy", ToolProfile(tier=Tier.CONSEQUENTIAL, admin_only=True))
    turns = [says(call("deploy", "a")), says(text="ok"), says(call("deploy", "b"))]
    chat = graph_chat(turns, [admins], caller=lambda _: callers[0])
    chat.say()
    callers[0] = Caller("bob")
    chat.answer()
    assert ran.names == ["deploy"] and chat.model.offered[0] == ["deploy"]
    chat.say("me too")
    assert chat.requests == [] and "not executed" in chat.result("b")
    assert ran.names == ["deploy"]


def test_two_asking_nodes_in_one_step_fail_the_run_and_nothing_runs() -> None:
    ran, gate = Recorder(), ToolGate()
    guard, other = gate.graph([ran.tool("deploy")]), gate.graph([ran.tool("deploy")])
    model = ScriptedModel(script=[says(call("deploy", "a"))])
    builder = built(guard, model)
    builder.add_node("other", other.node)
    builder.add_edge("model", "other")
    chat = Chat(builder.compile(checkpointer=InMemorySaver()), model, gate)
    chat.say()
    answers = {one.id: {"type": "approve", "request_id": chat.requests[0].request_id}
               for one in chat.agent.get_state(chat.config).interrupts}  # fmt: skip
    assert len(answers) == 2
    with pytest.raises(InvalidUpdateError, match="toolgate_turn"):
        chat.resume(answers)
    assert ran.names == []
