"""A deep agent's subagents: every one of them behind the gate, the automatic one included."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.subagents.support import DANGEROUS, READ, answer_all, as_tool, inner, makes, told
from tests.support import Chat, Recorder, ScriptedModel, call, says, with_profile
from toolgate_langchain import ApprovalRequest, Surface, Tier, ToolGate, ToolGateMiddleware, ToolProfile, Verdict, drive
from toolgate_langchain.errors import ConfigurationError

TASKS_ARE_FREE = [Surface("chat"), Surface("cron", attended=False, consequential=Verdict.ALLOW)]


def task(who: str, task_id: str = "t", about: str = "go") -> Any:
    return call("task", task_id, description=about, subagent_type=who)


def deep(
    gate: ToolGate,
    turns: list[Any],
    tools: list[BaseTool],
    subagents: Any,
    *,
    asynchronous: bool = False,
    **options: Any,
) -> Chat:
    """A really built deep agent behind the gate."""
    model = ScriptedModel(script=turns)
    agent = create_deep_agent(
        model,
        tools,
        middleware=[ToolGateMiddleware(gate, **options)],
        subagents=subagents,
        checkpointer=InMemorySaver(),
    )
    return Chat(agent, model, gate, asynchronous=asynchronous)


def spec(name: str, model: Any = None, **more: Any) -> dict[str, Any]:
    made = {} if model is None else {"model": model}
    return {"name": name, "description": f"The agent {name}.", "system_prompt": "Work.", **made, **more}


@pytest.mark.parametrize("who", ["cleaner", "general-purpose"])
def test_a_subagents_call_is_asked_about_at_the_root_under_its_name(
    ran: Recorder, asynchronous: bool, who: str
) -> None:
    gate = ToolGate()
    specs = [spec(who, makes(call("rm", "r", x=1)))]
    talk = deep(gate, [says(task(who))], [ran.tool("rm", DANGEROUS)], gate.subagents(specs), asynchronous=asynchronous)
    talk.say()
    assert talk.request.tool_name == "task"
    talk.answer()
    assert (talk.request.tool_name, talk.request.agent_path) == ("rm", ("task", who))
    assert ran.runs == []
    talk.answer()
    assert ran.runs == [("rm", {"x": 1})]
    assert talk.result("t") == "inner: ran rm"


def test_the_general_purpose_agent_that_nobody_declared_is_gated(ran: Recorder, asynchronous: bool) -> None:
    """It has its parent's model and tools, and none of its middleware unless it is given as a spec."""
    gate = ToolGate()
    ask = says(call("task", "t", description="go deep", subagent_type="general-purpose"))

    def turn(messages: list[BaseMessage]) -> AIMessage:
        if any(isinstance(message, ToolMessage) for message in messages):
            return AIMessage("done")
        return says(call("rm", "r", x=1)) if messages[-1].content == "go deep" else ask

    talk = deep(gate, [turn] * 9, [ran.tool("rm", DANGEROUS)], gate.subagents(), asynchronous=asynchronous)
    talk.say()
    talk.answer()
    assert (talk.request.tool_name, talk.request.agent_path) == ("rm", ("task", "general-purpose"))
    talk.answer("reject")
    assert talk.requests == []
    assert ran.runs == []


@pytest.mark.parametrize("ungated", [None, [spec("cleaner", ScriptedModel())]], ids=["automatic", "declared"])
def test_a_subagent_inherits_no_gate_so_that_one_without_it_does_not_start(
    ran: Recorder, asynchronous: bool, ungated: Any
) -> None:
    """A subagent inherits no gate: without `gate.subagents` the run fails before its model is called."""
    gate = ToolGate()
    talk = deep(gate, [says(task("general-purpose"))], [ran.tool("rm", DANGEROUS)], ungated, asynchronous=asynchronous)
    with pytest.raises(ConfigurationError, match=r"'general-purpose'.*subagents=gate.subagents"):
        talk.say()
    assert (len(talk.model.script), ran.runs) == (1, [])


def test_with_nobody_there_no_subagent_hangs(ran: Recorder, asynchronous: bool) -> None:
    """A subagent on an unattended surface: denied, not parked. The parent may start tasks there."""
    gate = ToolGate(surfaces=[Surface("chat"), Surface("cron", attended=False)])
    helper = inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)], options={"surface": "chat"})
    subagents = gate.subagents([spec("cleaner", makes(call("rm", "r", x=1)))])
    talk = deep(
        gate,
        [says(task("cleaner"), call("helper", "h"))],
        [ran.tool("rm", DANGEROUS), as_tool(helper)],
        subagents,
        asynchronous=asynchronous,
        surface="cron",
    )
    talk.say()
    assert talk.agent.get_state(talk.config).next == ()
    assert ran.runs == []
    assert "not executed" in talk.result("t")
    assert "not executed" in talk.result("h")


def test_with_nobody_there_what_a_task_may_do_runs_and_the_rest_is_denied(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate(surfaces=TASKS_ARE_FREE)
    strict = spec("cleaner", makes(call("look", "l"), call("rm", "r", x=1), call("unclassified", "u")))
    tools = [ran.tool("look", READ), ran.tool("rm", DANGEROUS), ran.tool("unclassified")]
    subagents = gate.subagents([strict])
    talk = deep(gate, [says(task("cleaner"))], tools, subagents, asynchronous=asynchronous, surface="cron")
    talk.say()
    assert talk.agent.get_state(talk.config).next == ()
    assert sorted(ran.names) == ["look", "rm"]
    assert "not executed" in talk.result("t")


def test_two_subagents_at_once_with_the_same_ids_do_not_mix(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    both = says(task("one", "a", "keep"), task("two", "b", "remove"))
    subagents = gate.subagents([spec("one", told("rm")), spec("two", told("rm"))])
    talk = deep(gate, [both], [ran.tool("rm", DANGEROUS)], subagents, asynchronous=asynchronous)

    def approver(request: ApprovalRequest) -> dict[str, str]:
        if request.tool_name == "task":
            return {"type": "approve"}
        assert request.tool_call_id == "same"
        assert request.agent_path == (("task", "one") if request.arguments["x"] == "keep" else ("task", "two"))
        return {"type": "reject" if request.arguments["x"] == "keep" else "approve"}

    drive(talk.agent, {"messages": [("user", "go")]}, talk.config, approver=approver)
    assert ran.runs == [("rm", {"x": "remove"})]
    assert "rejected" in talk.result("a")
    assert talk.result("b") == "inner: ran rm"


def test_what_a_parent_may_not_do_its_subagents_may_not(ran: Recorder, asynchronous: bool) -> None:
    """Its own definition says "no approval", on its own tool."""
    gate = ToolGate(surfaces=[Surface("chat", consequential=Verdict.ALLOW), Surface("strict", routine=Verdict.DENY)])
    forbidden = ran.tool("rm", ToolProfile(tier=Tier.CONSEQUENTIAL, admin_only=True))
    harmless = with_profile(forbidden, READ)
    loose = spec("cleaner", makes(call("rm", "r", x=1)), tools=[harmless])
    subagents = gate.subagents([loose])
    talk = deep(gate, [says(task("cleaner"))], [forbidden], subagents, asynchronous=asynchronous)
    talk.say()
    assert talk.requests == []
    assert ran.runs == []
    assert "not executed" in talk.result("t")


def test_the_always_of_one_subagent_is_not_used_in_another(ran: Recorder, asynchronous: bool) -> None:
    """Both are started by the same tool of their parent; the path tells them apart by name."""
    gate = ToolGate()
    turns = [says(task("one", "a")), says(task("two", "b")), says(task("one", "c"))]
    model = makes(call("rm", "r", x=1))
    subagents = gate.subagents([spec("one", model), spec("two", model)])
    talk = deep(gate, turns, [ran.tool("rm", DANGEROUS)], subagents, asynchronous=asynchronous)
    talk.say()
    asked = []
    while talk.requests:
        request = talk.request
        asked.append((request.tool_name, request.agent_path))
        inside = request.agent_path == ("task", "one")
        talk.answer(**({"remember": "arguments"} if inside else {}))
    assert asked == [
        ("task", ()), ("rm", ("task", "one")), ("task", ()), ("rm", ("task", "two")), ("task", ()),
    ]  # fmt: skip
    assert ran.count("rm") == 3


def test_a_compiled_subagent_with_the_gate_works_as_a_declared_one(ran: Recorder, asynchronous: bool) -> None:
    gate = ToolGate()
    compiled = inner(gate, makes(call("rm", "r", x=1)), [ran.tool("rm", DANGEROUS)])
    subagents = gate.subagents([{"name": "cleaner", "description": "Cleans.", "runnable": compiled}])
    talk = deep(gate, [says(task("cleaner"))], [], subagents, asynchronous=asynchronous)
    talk.say()
    talk.answer()
    assert talk.request.agent_path == ("task", "cleaner")
    assert answer_all(talk) == ["rm"]
    assert talk.result("t") == "inner: ran rm"


def test_a_fork_is_gated_and_leaves_its_parents_pending_calls_alone(ran: Recorder, asynchronous: bool) -> None:
    """A fork gets its parent's conversation and state; it closes nothing in them that is still open."""
    gate = ToolGate()
    cleaner = ScriptedModel(script=[says(call("rm", "r", x=1)), says(text="forked and done")])
    subagents = gate.subagents([spec("cleaner", cleaner, mode="fork")])
    turn = says(task("cleaner"), call("rm", "own", x=2))
    with pytest.warns(match="forked subagents"):
        talk = deep(gate, [turn], [ran.tool("rm", DANGEROUS)], subagents, asynchronous=asynchronous)
    talk.say()
    asked = []
    while talk.requests:
        asked.append((talk.request.tool_name, talk.request.agent_path))
        talk.answer()
    assert asked == [("task", ()), ("rm", ()), ("rm", ("task", "cleaner"))]
    assert sorted(arguments["x"] for _, arguments in ran.runs) == [1, 2]
    assert (talk.result("t"), talk.result("own")) == ("forked and done", "ran rm")


def test_auto_approved_turns_and_rejections_of_subagents_count_with_the_roots(
    ran: Recorder, asynchronous: bool
) -> None:
    gate = ToolGate(heuristics=[lambda proposed, _: proposed["name"] != "task"], max_auto_approvals=2)
    turns = [says(task("cleaner")), says(call("rm", "own", x=9))]
    model = ScriptedModel(script=[says(call("rm", "r1", x=1)), says(call("rm", "r2", x=2)), says(text="done")])
    subagents = gate.subagents([spec("cleaner", model)])
    talk = deep(gate, turns, [ran.tool("rm", DANGEROUS)], subagents, asynchronous=asynchronous)
    talk.say()
    assert talk.request.tool_name == "task"
    talk.answer()
    assert [arguments["x"] for _, arguments in ran.runs] == [1, 2]
    assert (talk.request.tool_call_id, talk.request.agent_path) == ("own", ())
    assert any("2 turns ran" in note for note in talk.request.notes)
