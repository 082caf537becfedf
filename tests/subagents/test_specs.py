"""`gate.subagents`: what is taken, what is refused, and what the refusal says to do."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from deepagents.middleware.filesystem import FilesystemPermission
from deepagents.middleware.skills import SkillsMiddleware
from deepagents.middleware.subagents import SubAgentMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.subagents.support import DANGEROUS, answer_all, as_tool, inner, makes
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import ToolGate, ToolGateMiddleware
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.inside.subagents import gate_subagents
from toolgate_langchain.hosts.langgraph.behind import code_of

PLAIN: dict[str, Any] = {"name": "a", "description": "A."}


class Other(AgentMiddleware[Any, Any, Any]):
    """Some other middleware, which does nothing."""


def compiled(gate: ToolGate | None, ran: Recorder, **more: Any) -> Any:
    middleware = more.pop("middleware", [] if gate is None else [ToolGateMiddleware(gate)])
    return create_agent(ScriptedModel(), [ran.tool("rm", DANGEROUS)], middleware=middleware, **more)


def deep(gate: ToolGate, ran: Recorder, subagents: Any = None) -> Any:
    tools = [ran.tool("rm", DANGEROUS)]
    return create_deep_agent(ScriptedModel(), tools, middleware=[ToolGateMiddleware(gate)], subagents=subagents)


def graph_of(agent: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    return builder.compile()


def test_the_general_purpose_one_is_added_and_a_declared_one_takes_its_place() -> None:
    gate = ToolGate()
    assert [spec["name"] for spec in gate.subagents()] == ["general-purpose"]
    assert [spec["name"] for spec in gate.subagents([PLAIN])] == ["a", "general-purpose"]
    own = {**PLAIN, "name": "general-purpose"}
    assert [spec["description"] for spec in gate.subagents([own])] == ["A."]


def test_the_gate_is_put_last_and_the_specs_are_not_changed() -> None:
    gate, other = ToolGate(), Other()
    spec = {**PLAIN, "middleware": [other]}
    (first, _) = gate_subagents([spec], gate)
    assert first["middleware"][0] is other
    assert isinstance(first["middleware"][-1], ToolGateMiddleware)
    assert first["middleware"][-1].gate is gate
    assert spec == {**PLAIN, "middleware": [other]}


def test_a_gate_that_is_there_already_stays_as_it_is() -> None:
    gate = ToolGate()
    own = ToolGateMiddleware(gate, surface="cli")
    (first, _) = gate.subagents([{**PLAIN, "middleware": [own]}])
    assert first["middleware"] == [own]


def test_every_subagent_has_its_own_middleware() -> None:
    gate = ToolGate()
    first, second = gate.subagents([PLAIN])
    assert first["middleware"][-1] is not second["middleware"][-1]


def test_model_and_tools_are_for_specs_without(ran: Recorder) -> None:
    gate, model, own = ToolGate(), ScriptedModel(), ScriptedModel()
    tools = [ran.tool("rm", DANGEROUS)]
    first, second = gate.subagents([{**PLAIN, "model": own}], model=model, tools=tools)
    assert (first["model"], first["tools"]) == (own, tools)
    assert (second["model"], second["tools"]) == (model, tools)


def test_deepagents_own_middleware_takes_the_specs_too(ran: Recorder) -> None:
    """`SubAgentMiddleware` in a `create_agent`, where nothing is filled in."""
    gate = ToolGate()
    specs = gate.subagents([PLAIN], model=makes(call("rm", "r", x=1)), tools=[ran.tool("rm", DANGEROUS)])
    model = ScriptedModel(script=[says(call("task", "t", description="go", subagent_type="a"))])
    middleware: list[Any] = [SubAgentMiddleware(backend=StateBackend(), subagents=specs), ToolGateMiddleware(gate)]
    talk = Chat(create_agent(model, middleware=middleware, checkpointer=InMemorySaver()), model, gate)
    talk.say()
    assert answer_all(talk) == ["task", "rm"]


@pytest.mark.parametrize("form", ["alone", "around nothing", "around others", "bound", "in a graph", "deep"])
def test_a_compiled_one_is_taken_where_the_gate_is_in_it(ran: Recorder, form: str) -> None:
    gate = ToolGate()
    built: dict[str, Any] = {
        "alone": lambda: compiled(gate, ran),
        "around nothing": lambda: compiled(gate, ran, middleware=gate.around()),
        "around others": lambda: compiled(gate, ran, middleware=gate.around([Other()])),
        "bound": lambda: compiled(gate, ran).with_config({"tags": ["x"]}),
        "deep": lambda: deep(gate, ran, gate.subagents()),
    }
    if form == "in a graph":
        # The graph itself starts no agent's run; the agent in it does.
        with pytest.raises(ConfigurationError, match="compiled without this gate"):
            gate.subagents([{**PLAIN, "runnable": graph_of(compiled(gate, ran))}])
        return
    runnable = built[form]()
    (first, _) = gate.subagents([{**PLAIN, "runnable": runnable}])
    assert first["runnable"] is runnable


@pytest.mark.parametrize("form", ["none", "another", "outer part", "deep", "a tool's", "in a graph"])
def test_a_compiled_one_without_this_very_gate_is_refused(ran: Recorder, form: str) -> None:
    gate = ToolGate()
    loose = compiled(None, ran, name="loose")
    built: dict[str, Any] = {
        "none": lambda: loose,
        "another": lambda: compiled(ToolGate(), ran),
        "outer part": lambda: compiled(gate, ran, middleware=gate.around([Other()])[:1]),
        # Itself behind the gate, with the automatic subagent in it, which is not.
        "deep": lambda: deep(gate, ran),
        "a tool's": lambda: inner(gate, ScriptedModel(), [as_tool(loose)]),
        "in a graph": lambda: graph_of(loose),
    }
    with pytest.raises(
        ConfigurationError, match=r"'a' is compiled without this gate.*middleware=\[gate.subagent\(\)\]"
    ):
        gate.subagents([{**PLAIN, "runnable": built[form]()}])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"graph_id": "g", "url": "http://127.0.0.1:9"}, "runs on a server, out of this gate's reach"),
        ({"url": "http://127.0.0.1:9"}, "runs on a server, out of this gate's reach"),
        ({"runnable": RunnableLambda(lambda state: state)}, "is a RunnableLambda, in which no gate can be found"),
        ({"runnable": None}, "is a NoneType, in which no gate can be found"),
        ({"agent_card": "x"}, "'agent_card', which a SubAgent does not have"),
        ({"runnable": None, "endpoint": "x"}, "'endpoint', which a CompiledSubAgent does not have"),
        ({"interrupt_on": {"rm": False}}, "has interrupt_on, .* whose middleware asks between the gate and the tools"),
        (
            {"permissions": [FilesystemPermission(operations=["write"], paths=["/**"], mode="interrupt")]},
            "permissions that interrupt",
        ),
        ({"middleware": [ToolGateMiddleware(ToolGate())]}, "is behind another gate than its parent"),
    ],
)
def test_what_cannot_be_gated_is_refused_with_what_to_do(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'a' .*{said}"):
        ToolGate().subagents([{**PLAIN, **more}])


class OtherSkills(SkillsMiddleware):
    """A subclass is not what was read."""

    @property
    def name(self) -> str:
        return "SkillsMiddleware"


def test_skills_of_a_middleware_that_nobody_has_read_are_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = OtherSkills(backend=StateBackend(), sources=["/skills/"])
    with pytest.raises(ConfigurationError, match=r"'a' has skills, whose middleware \(OtherSkills\) .*a compiled one"):
        ToolGate().subagents([{**PLAIN, "middleware": [other]}])
    monkeypatch.setattr(SkillsMiddleware, "wrap_tool_call", lambda self, request, handler: handler(request))
    code_of.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=r"'a' has skills, whose middleware \(SkillsMiddleware\)"):
            ToolGate().subagents([{**PLAIN, "skills": ["/skills/"]}])
    finally:
        code_of.cache_clear()


def test_a_compiled_one_that_keeps_no_checkpoints_is_refused(ran: Recorder) -> None:
    gate = ToolGate()
    with pytest.raises(ConfigurationError, match="checkpointer=False and cannot wait for a person"):
        gate.subagents([{**PLAIN, "runnable": compiled(gate, ran, checkpointer=False)}])


@pytest.mark.parametrize("place", [0, 1])
def test_the_gate_in_a_place_or_form_that_is_not_kept_is_refused(place: int) -> None:
    gate = ToolGate()
    given: list[list[Any]] = [[ToolGateMiddleware(gate), Other()], gate.around()]
    with pytest.raises(ConfigurationError, match="in a place or form that deepagents does not keep"):
        gate.subagents([{**PLAIN, "middleware": given[place]}])


@pytest.mark.parametrize("given", [None, "researcher", {"name": "a", "description": "A."}, 7])
def test_what_is_no_list_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="must be a list of specs"):
        ToolGate().subagents(given)


@pytest.mark.parametrize("given", [None, "researcher", {"name": "a"}, {"name": 1, "description": "x"}, ScriptedModel()])
def test_what_is_no_spec_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no spec: a dict with name and description"):
        ToolGate().subagents([given])


def test_a_setting_that_the_gate_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown surface 'nowhere'"):
        ToolGate().subagents([PLAIN], surface="nowhere")
