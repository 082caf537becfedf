"""A deep agent whose arguments put middleware between the gate and the tools: it works, or is refused at its start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware._tool_exclusion import _ToolExclusionMiddleware
from deepagents.middleware.filesystem import FilesystemPermission
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.subagents.support import DANGEROUS, answer_all, makes
from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import ToolGate, ToolGateMiddleware
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.langgraph.behind import code_of

SKILL = "---\nname: mail\ndescription: Sends mail.\n---\nSend it."


@pytest.fixture
def backend(tmp_path: Path) -> FilesystemBackend:
    skill = tmp_path / "skills" / "mail" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    return FilesystemBackend(root_dir=tmp_path, virtual_mode=True)


def deep(gate: ToolGate, ran: Recorder, turns: list[Any], *, asynchronous: bool = False, **more: Any) -> Chat:
    model = ScriptedModel(script=turns)
    agent = create_deep_agent(
        model,
        [ran.tool("rm", DANGEROUS)],
        middleware=[ToolGateMiddleware(gate)],
        subagents=gate.subagents(),
        checkpointer=InMemorySaver(),
        **more,
    )
    return Chat(agent, model, gate, asynchronous=asynchronous)


def test_skills_work_because_their_wrapper_passes_every_call_on_as_it_is(
    ran: Recorder, asynchronous: bool, backend: FilesystemBackend
) -> None:
    turns = [says(call("rm", "r", x=1)), says(call("rm", "s", x=2)), says(text="done")]
    talk = deep(ToolGate(), ran, turns, asynchronous=asynchronous, skills=["/skills/"], backend=backend)
    talk.say()
    assert (talk.request.tool_name, ran.runs) == ("rm", [])
    talk.answer("reject")
    talk.answer()
    assert ran.runs == [("rm", {"x": 2})]
    assert "rejected" in talk.result("r") and talk.result("s") == "ran rm"


@pytest.mark.parametrize("as_middleware", [False, True], ids=["skills=", "as its middleware"])
def test_skills_of_a_subagent_work_behind_its_gate_too(
    ran: Recorder, asynchronous: bool, backend: FilesystemBackend, as_middleware: bool
) -> None:
    gate, skills = ToolGate(), SkillsMiddleware(backend=backend, sources=["/skills/"])
    given: dict[str, Any] = {"middleware": [skills]} if as_middleware else {"skills": ["/skills/"]}
    inner = makes(call("rm", "r", x=1), call("rm", "s", x=2))
    spec = {"name": "mailer", "description": "Sends.", "system_prompt": "Send.", "model": inner, **given}
    task = call("task", "t", description="go", subagent_type="mailer")
    agent = create_deep_agent(
        model := ScriptedModel(script=[says(task)]),
        [ran.tool("rm", DANGEROUS)],
        middleware=[ToolGateMiddleware(gate)],
        subagents=gate.subagents([spec]),
        backend=backend,
        checkpointer=InMemorySaver(),
    )
    talk = Chat(agent, model, gate, asynchronous=asynchronous)
    talk.say()
    if talk.request.tool_name == "task":
        talk.answer()
    assert "Sends mail." in str(inner.seen[0]), "it has its skills"
    asked = []
    while talk.requests:
        asked.append((talk.request.tool_call_id, talk.request.agent_path))
        talk.answer("reject" if talk.request.tool_call_id == "r" else "approve")
    assert asked == [("r", ("task", "mailer")), ("s", ("task", "mailer"))]
    assert ran.runs == [("rm", {"x": 2})]


@pytest.mark.parametrize(
    "given",
    [
        {"interrupt_on": {"rm": True}},
        {"permissions": [FilesystemPermission(operations=["write"], paths=["/**"], mode="interrupt")]},
    ],
    ids=["interrupt_on", "permissions"],
)
def test_interrupt_on_is_refused_before_the_model_is_called_and_the_error_names_the_way(
    ran: Recorder, asynchronous: bool, given: dict[str, Any]
) -> None:
    talk = deep(ToolGate(), ran, [says(call("rm", "r", x=1))], asynchronous=asynchronous, **given)
    with pytest.raises(
        ConfigurationError, match=r"leave out interrupt_on=\.\.\. and permissions that interrupt.*from_interrupt_on"
    ):
        talk.say()
    assert (len(talk.model.script), ran.runs) == (1, [])


def test_the_way_that_it_names_works(ran: Recorder) -> None:
    """What was the argument of `create_deep_agent` becomes the gate's."""
    gated = ToolGateMiddleware.from_interrupt_on({"rm": {"allowed_decisions": ["approve", "reject"]}, "task": True})
    model = ScriptedModel(script=[says(call("rm", "r", x=1))])
    agent = create_deep_agent(
        model,
        [ran.tool("rm", DANGEROUS)],
        middleware=[gated],
        subagents=gated.gate.subagents(),
        checkpointer=InMemorySaver(),
    )
    talk = Chat(agent, model, gated.gate)
    talk.say()
    assert talk.request.allowed == ("approve", "reject")
    assert answer_all(talk) == ["rm"]
    assert ran.count("rm") == 1


class Behind(AgentMiddleware[Any, Any, Any]):
    """Changes every call."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "args": {"x": 666}}))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(tool_call={**request.tool_call, "args": {"x": 666}}))


class LooksLikeSkills(SkillsMiddleware):
    """A subclass is not what was read."""


@pytest.mark.parametrize("kind", ["another", "retries", "a subclass", "another around the known one"])
def test_anything_else_behind_the_gate_is_refused_before_the_model_is_called(
    ran: Recorder, asynchronous: bool, backend: FilesystemBackend, kind: str
) -> None:
    skills = SkillsMiddleware(backend=backend, sources=["/skills/"])
    behind: dict[str, list[Any]] = {
        "another": [Behind()],
        "retries": [ToolRetryMiddleware()],
        "a subclass": [LooksLikeSkills(backend=backend, sources=["/skills/"])],
        "another around the known one": [skills, Behind()],
    }
    gate, model = ToolGate(), ScriptedModel(script=[says(call("rm", "r", x=1))])
    agent = create_agent(
        model,
        [ran.tool("rm", DANGEROUS)],
        middleware=[ToolGateMiddleware(gate), *behind[kind]],
        checkpointer=InMemorySaver(),
    )
    talk = Chat(agent, model, gate, asynchronous=asynchronous)
    name = {"retries": "ToolRetryMiddleware", "a subclass": "LooksLikeSkills"}.get(kind, "Behind")
    with pytest.raises(ConfigurationError, match=rf"stands behind the gate \({name}\).*gate\.around"):
        talk.say()
    assert (len(model.script), ran.runs) == (1, [])


def test_a_known_wrapper_whose_code_was_replaced_is_refused(
    ran: Recorder, backend: FilesystemBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SkillsMiddleware, "wrap_tool_call", Behind.wrap_tool_call)
    code_of.cache_clear()
    try:
        talk = deep(ToolGate(), ran, [says(call("rm", "r", x=1))], skills=["/skills/"], backend=backend)
        with pytest.raises(ConfigurationError, match=r"stands behind the gate \(SkillsMiddleware\)"):
            talk.say()
    finally:
        code_of.cache_clear()
    assert ran.runs == []


def test_tools_that_a_models_profile_excludes_do_not_run_and_the_others_do(ran: Recorder, asynchronous: bool) -> None:
    """The wrapper that deepagents puts last for some models: it runs a call as it is, or not at all."""
    gate = ToolGate()
    turn = says(call("rm", "r", x=1), call("wipe", "w", x=1))
    model = ScriptedModel(script=[turn])
    agent = create_agent(
        model,
        [ran.tool("rm", DANGEROUS), ran.tool("wipe", DANGEROUS)],
        middleware=[ToolGateMiddleware(gate), _ToolExclusionMiddleware(excluded=frozenset({"wipe"}))],
        checkpointer=InMemorySaver(),
    )
    talk = Chat(agent, model, gate, asynchronous=asynchronous)
    talk.say()
    answer_all(talk)
    assert ran.names == ["rm"]
    assert [message.tool_call_id for message in talk.messages if isinstance(message, ToolMessage)] == ["r", "w"]
    assert "not available" in talk.result("w")
