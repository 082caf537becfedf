"""Skills: lists of tools that a run's instructions declare, also while a run is paused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import (
    RunConfiguration,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.policy.caller import Skill

READ = ToolProfile(tier=Tier.READ_ONLY)
CODE = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"code"}))
CONTENT = ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"content"}))


def a_gate(profiles: dict[str, ToolProfile] | None = None, **catalog: Any) -> ToolGate:
    named = profiles if profiles is not None else {"a": READ, "b": READ, "c": READ}
    tools = [Recorder().tool(name, profile) for name, profile in named.items()]
    return ToolGate(ToolCatalog.from_tools(tools, **catalog))


@pytest.mark.parametrize(
    ("skills", "kept"),
    [
        (
            (
                Skill("one"),
                Skill("two"),
            ),
            ["a", "b", "c"],
        ),
        (
            (
                Skill("one", ("a",)),
                Skill("two", ("a", "b")),
            ),
            ["a", "b"],
        ),
        (
            (
                Skill("one", ("a",)),
                Skill("silent"),
            ),
            ["a"],
        ),
        ((Skill("one", ()),), []),
        (
            (
                Skill("one", ()),
                Skill("two", ("b",)),
            ),
            ["b"],
        ),
        ((Skill("off", ("a",), enabled=False),), ["a", "b", "c"]),
        (
            (
                Skill("off", ("a",), enabled=False),
                Skill("two", ("b",)),
            ),
            ["b"],
        ),
    ],
    ids=[
        "two that declare nothing: unrestricted",
        "the union of what they declare",
        "one that declares nothing has no opinion",
        "a lone empty list: none",
        "an empty list beside another",
        "a disabled skill has no say",
        "a disabled skill beside another",
    ],
)
def test_skills(skills: tuple[Skill, ...], kept: list[str]) -> None:
    gate = a_gate()
    configuration = RunConfiguration(skills=skills)
    assert gate.filter_offerable(None, surface="chat", configuration=configuration) == kept
    tools = [Recorder().tool(name, READ) for name in ("a", "b", "c")]
    talk = chat([], tools, configuration=configuration)
    talk.say()
    assert talk.model.offered == ([kept] if kept else [])


def test_groups_are_intersected_with_skills() -> None:
    gate = a_gate({"lint": CODE, "post": CONTENT, "plain": READ})
    both = RunConfiguration(groups=frozenset({"code"}), skills=(Skill("s", ("lint", "post")),))
    assert gate.filter_offerable(None, surface="chat", configuration=both) == ["lint"]
    only_skills = RunConfiguration(skills=(Skill("s", ("lint", "post")),))
    assert gate.filter_offerable(None, surface="chat", configuration=only_skills) == ["lint", "post"]


def _paused_then_live(before: RunConfiguration, live: RunConfiguration, tools: Sequence[BaseTool]) -> Chat:
    """A run that paused under one configuration and is resumed under another, by a new process."""
    saver = InMemorySaver()
    script = [says(call("ask", "p")), says(call("a", "a"), call("b", "b"))]
    paused = chat(script, tools, checkpointer=saver, configuration=before)
    paused.say()
    request_id = paused.request.request_id
    resumed = chat(script[1:], tools, checkpointer=saver, configuration=live)
    resumed.resume({"type": "approve", "request_id": request_id})
    return resumed


def test_a_skill_list_stored_with_a_paused_run_is_intersected_with_the_live_one_on_resume() -> None:
    """Removing the only declaring skill must not open every tool; a tightened configuration holds at once."""
    declaring = RunConfiguration(skills=(Skill("s", ("ask", "a")),))
    for before, live, runs in (
        (declaring, RunConfiguration(), ["ask", "a"]),
        (RunConfiguration(), declaring, ["ask", "a"]),
        (declaring, RunConfiguration(skills=(Skill("s", ("ask", "b")),)), ["ask"]),
        (RunConfiguration(), RunConfiguration(), ["ask", "a", "b"]),
    ):
        ran = Recorder()
        tools = [ran.tool("ask", ToolProfile(tier=Tier.ROUTINE)), ran.tool("a", READ), ran.tool("b", READ)]
        resumed = _paused_then_live(before, live, tools)
        assert sorted(ran.names) == sorted(runs)
        assert resumed.model.offered[0] == runs


def test_an_approved_call_that_a_tightened_configuration_no_longer_permits_does_not_run() -> None:
    for live, runs in ((RunConfiguration(tools=("a",)), 0), (RunConfiguration(), 1)):
        ran = Recorder()
        tools = [ran.tool("ask", ToolProfile(tier=Tier.ROUTINE)), ran.tool("a", READ)]
        talk = _paused_then_live(RunConfiguration(), live, tools)
        assert ran.count("ask") == runs
        assert ("not permitted" in talk.result("p")) is (runs == 0)
