"""Where a child cannot be gated, the run fails before the model is first called, and says how to fix it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph

from tests.subagents.support import DANGEROUS, READ, as_tool, inner, makes
from tests.support import Chat, Recorder, ScriptedModel, call, chat, says, with_profile
from toolgate_langchain import GatedAgent, ToolCatalog, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.inside.agents_inside import ungated_in

GO: dict[str, Any] = {"messages": [HumanMessage("go")]}
ACCEPTED = ToolProfile(tier=READ.tier, ungated_agents=True)

LOOSE: Any = create_agent(makes(call("rm", x=1)), [Recorder().tool("rm", DANGEROUS)], name="loose")
"""An agent without a gate, in a global."""

LISTED = {"loose": LOOSE}


def _words(given: Any) -> str:
    return str(given)


def _through_another() -> str:
    return str(LISTED["loose"].invoke(GO))


class Service:
    """An object that holds an agent."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def ask(self) -> str:
        """Let it do it."""
        return str(self.agent.invoke(GO))

    def __call__(self) -> str:
        return self.ask()


SERVICE = Service(LOOSE)


class AgentTool(BaseTool):
    """A tool of a class of its own, with an agent in a field."""

    name: str = "helper"
    description: str = "Let an agent do it."
    agent: Any = None

    def _run(self) -> str:
        return str(self.agent.invoke(GO))


def made_of(function: Callable[..., Any]) -> BaseTool:
    return StructuredTool.from_function(function, name="helper", description="Let an agent do it.")


def made_plainly_of(function: Callable[..., Any]) -> BaseTool:
    """For what has no type hints to read."""
    return StructuredTool(
        name="helper", description="x", func=function, args_schema={"type": "object", "properties": {}}
    )


def in_a_global() -> BaseTool:
    return made_of(lambda: str(LOOSE.invoke(GO)))


def in_a_comprehension() -> BaseTool:
    return made_of(lambda: [agent.invoke(GO) for agent in [LOOSE]])


def in_a_closure(held: Any = LOOSE) -> BaseTool:
    def run() -> str:
        return str(held.invoke(GO))

    return made_of(run)


def in_another_global() -> BaseTool:
    def run() -> str:
        return SERVICE.ask()

    return made_of(run)


def in_a_nodes_function() -> BaseTool:
    def node(state: Any) -> Any:
        return LOOSE.invoke(state)

    return as_tool(graph_of(node))


def in_a_default() -> BaseTool:
    def run(task: str = "go", *, _agent: Any = LOOSE) -> str:
        return str(_agent.invoke({"messages": [HumanMessage(task)]}))

    return StructuredTool.from_function(run, name="helper", description="x", args_schema={"type": "object"})


def in_a_partial() -> BaseTool:
    return made_plainly_of(partial(lambda agent: str(agent.invoke(GO)), LOOSE))


HOLDING: dict[str, Callable[[], Any]] = {
    "a global": in_a_global,
    "a comprehension": in_a_comprehension,
    "a closure": in_a_closure,
    "a default": in_a_default,
    "a function that the function calls": lambda: made_of(_through_another),
    "an object's method": lambda: made_of(Service(LOOSE).ask),
    "an object in a global": in_another_global,
    "an object in a closure": lambda: in_a_closure(SimpleNamespace(agent=LOOSE)),
    "a list in a closure": lambda: in_a_closure([LOOSE]),
    "a field of the tool": lambda: AgentTool(agent=LOOSE),
    "its own method as the function": lambda: made_plainly_of(LOOSE.invoke),
    "as_tool": lambda: LOOSE.as_tool(name="helper", description="x"),
    "as_tool of a binding": lambda: LOOSE.with_config(tags=["x"]).as_tool(name="helper", description="x"),
    "as_tool of a chain": lambda: (RunnableLambda(lambda _: GO) | LOOSE).as_tool(
        name="helper", description="x", arg_types={"task": str}
    ),
    "a fallback": lambda: in_a_closure(RunnableLambda(_words).with_fallbacks([LOOSE])),
    "a node of a graph": lambda: as_tool(graph_of(LOOSE)),
    "a node's function": in_a_nodes_function,
}


def graph_of(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", node)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    return builder.compile()


@pytest.mark.filterwarnings("ignore:This API is in beta")  # Runnable.as_tool
@pytest.mark.parametrize("way", HOLDING)
def test_an_ungated_agent_held_in_any_way_is_found_before_the_model_is_called(way: str) -> None:
    gate = ToolGate()
    talk = chat([says(call("helper", "h"))], [HOLDING[way]()], gate=gate)
    with pytest.raises(
        ConfigurationError,
        match=r"'helper' starts agents.*'loose'.*gate\.subagent\(\).*ToolProfile\(\.\.\., ungated_agents",
    ):
        talk.say()
    assert len(talk.model.script) == 1


def test_one_in_a_partial_or_in_a_callable_object_is_found() -> None:
    """LangGraph takes no such tools itself, a `GatedAgent` does."""
    for held in (in_a_partial(), made_plainly_of(Service(LOOSE))):
        with pytest.raises(ConfigurationError, match=r"'helper' starts agents.*'loose'"):
            GatedAgent(ScriptedModel(), [held], ToolGate())


def test_so_it_is_asynchronously_and_with_the_gate_around_others(asynchronous: bool) -> None:
    gate = ToolGate()
    talk = chat(
        [says(call("helper", "h"))], [in_a_closure()], gate=gate, middleware=gate.around(), asynchronous=asynchronous
    )
    with pytest.raises(ConfigurationError, match="'loose'"):
        talk.say()
    assert len(talk.model.script) == 1


def test_one_that_a_gated_agent_inside_starts_is_found_too(ran: Recorder) -> None:
    gate = ToolGate()
    between = inner(gate, makes(call("helper")), [in_a_closure()])
    talk = chat([says(call("plan"))], [as_tool(between, "plan")], gate=gate)
    with pytest.raises(ConfigurationError, match=r"'plan' starts agents that this gate is not in \('loose'\)"):
        talk.say()


def test_an_agent_on_a_server_and_one_of_another_host_are_found_too(ran: Recorder) -> None:
    gate = ToolGate()
    remote = RemoteGraph("far", url="http://127.0.0.1:9", name="far")
    other = GatedAgent(ScriptedModel(), [ran.tool("rm", DANGEROUS)], ToolGate(), name="other")
    for agent, name in ((remote, "far"), (other, "other")):
        held = made_of(lambda agent=agent: agent.invoke(GO))
        assert list(ungated_in(held, gate)) == [name]


def test_what_is_built_into_a_hand_written_graph_is_refused_when_its_parts_are_made() -> None:
    with pytest.raises(ConfigurationError, match="'helper' starts agents that this gate is not in"):
        ToolGate().graph([in_a_closure()])


def test_the_automatic_subagent_of_a_deep_agent_is_found_before_its_model_is_called(ran: Recorder) -> None:
    gate, model = ToolGate(), ScriptedModel(script=[says(text="never said")])
    agent = create_deep_agent(
        model, [ran.tool("rm", DANGEROUS)], middleware=[ToolGateMiddleware(gate)], checkpointer=InMemorySaver()
    )
    with pytest.raises(ConfigurationError, match=r"'task' starts subagents.*'general-purpose'.*gate\.subagents"):
        Chat(agent, model, gate).say()
    assert len(model.script) == 1


class TestAcceptedByTheOperator:
    """Explicit beats silent: written on the tool, or in the catalog, an agent without the gate may run in it."""

    def test_by_the_profile_that_the_tool_carries(self, asynchronous: bool) -> None:
        tools = [with_profile(as_tool(LOOSE), ACCEPTED)]
        talk = chat([says(call("helper", "h"))], tools, asynchronous=asynchronous)
        talk.say()
        assert talk.result("h") == "inner: ran rm"

    def test_by_the_catalog_and_for_that_very_tool_only(self) -> None:
        mine = as_tool(LOOSE)
        gate = ToolGate(ToolCatalog.from_tools([mine], profiles={"helper": ACCEPTED}))
        assert list(ungated_in(mine, gate)) == []

        @tool
        def helper(other: int) -> str:
            """Let an agent do it."""
            return str(LOOSE.invoke(GO))

        assert list(ungated_in(helper, gate)) == ["loose"]

    def test_one_accepted_tool_accepts_no_other(self) -> None:
        talk = chat([says(call("helper"))], [with_profile(as_tool(LOOSE, "first"), ACCEPTED), as_tool(LOOSE)])
        with pytest.raises(ConfigurationError, match="'helper' starts agents"):
            talk.say()

    def test_another_tools_of_an_agent_inside_are_accepted_one_by_one(self) -> None:
        gate = ToolGate()
        between = inner(gate, makes(call("helper", "i")), [with_profile(as_tool(LOOSE), ACCEPTED)])
        talk = chat([says(call("plan", "p"))], [as_tool(between, "plan")], gate=gate)
        talk.say()
        assert talk.result("p") == "inner: inner: ran rm"


def test_tools_that_only_hold_a_model_or_graphs_without_tools_are_not_taken_for_agents(ran: Recorder) -> None:
    gate, model = ToolGate(), ScriptedModel(script=[says(text="said")])
    bound = model.bind(stop=["x"])
    plain = graph_of(lambda state: {"messages": [model.invoke(state["messages"])]})
    builder = StateGraph(MessagesState)
    service = SimpleNamespace(model=model, tools=[ran.tool("rm", DANGEROUS)], builder=builder, gate=gate)
    holding = [
        made_of(lambda: bound.invoke("x")),
        made_of(lambda: (bound | str).invoke("x")),
        made_of(lambda: service.model.invoke("x")),
        made_plainly_of(partial(lambda one: one.invoke(GO), plain)),
    ]
    # The name of a field that is also the name of a global with an agent in it.
    holding.append(made_of(lambda: service.LOOSE))
    assert [list(ungated_in(one, gate)) for one in holding] == [[]] * 5


def test_agents_behind_this_gate_are_found_and_need_no_word(ran: Recorder) -> None:
    gate = ToolGate()
    gated = [
        as_tool(inner(gate, ScriptedModel(), [ran.tool("rm", DANGEROUS)])),
        as_tool(create_agent(ScriptedModel(), [ran.tool("rm", DANGEROUS)], middleware=gate.around())),
        made_of(lambda: GatedAgent(ScriptedModel(), [ran.tool("rm", DANGEROUS)], gate).invoke("x")),
        made_plainly_of(partial(GatedAgent.invoke, GatedAgent(ScriptedModel(), [ran.tool("rm", DANGEROUS)], gate))),
    ]
    assert [list(ungated_in(one, gate)) for one in gated] == [[]] * 4
