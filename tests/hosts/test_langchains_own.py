"""LangChain's own middleware, each beside the gate: nothing runs unasked, and each call has exactly one result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import langchain.agents.middleware as langchains
import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from tests.support import Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import Tier, ToolGate, ToolGateMiddleware, ToolProfile

ADDRESS = "ann@example.com"

LANGCHAINS: dict[str, type[AgentMiddleware[Any, Any, Any]]] = {
    name: one
    for name, one in vars(langchains).items()
    if isinstance(one, type) and issubclass(one, AgentMiddleware) and one is not AgentMiddleware
}


def words() -> ScriptedModel:
    """A model that other middleware asks."""
    return ScriptedModel(script=[AIMessage("what it says")] * 9)


def harmless(_: Any) -> Any:
    """A decision model that finds no risk in anything."""
    answer: Any = SimpleNamespace(noul=0.0)
    return SimpleNamespace(nouls=type("Each", (dict,), {"__missing__": lambda *_: answer})())


def every_error(*_: Any) -> str:
    return "swallowed"


RUN: dict[str, tuple[Callable[[Path], Any], list[str], int]] = {
    "AutoModeMiddleware": (
        lambda _: langchains.AutoModeMiddleware(tools=["send", "read"], classifier=RunnableLambda(harmless)),  # type: ignore[arg-type]
        [ADDRESS],
        1,
    ),
    "ContextEditingMiddleware": (
        lambda _: langchains.ContextEditingMiddleware(edits=[langchains.ClearToolUsesEdit(trigger=1, keep=0)]),
        [ADDRESS],
        1,
    ),
    "FilesystemFileSearchMiddleware": (
        lambda folder: langchains.FilesystemFileSearchMiddleware(root_path=str(folder)),
        [ADDRESS],
        1,
    ),
    "HumanInTheLoopMiddleware": (
        lambda _: langchains.HumanInTheLoopMiddleware(interrupt_on={"other": True}),
        [ADDRESS],
        1,
    ),
    "LLMToolEmulator": (lambda _: langchains.LLMToolEmulator(model=words()), [], 0),
    "LLMToolSelectorMiddleware": (
        # It asks its model only where more tools are offered than it may keep.
        lambda _: langchains.LLMToolSelectorMiddleware(model=words(), max_tools=9, always_include=["send", "read"]),
        [ADDRESS],
        1,
    ),
    "ModelCallLimitMiddleware": (lambda _: langchains.ModelCallLimitMiddleware(run_limit=1), [ADDRESS], 1),
    "ModelFallbackMiddleware": (lambda _: langchains.ModelFallbackMiddleware(words()), [ADDRESS], 1),
    "ModelRefusalMiddleware": (lambda _: langchains.ModelRefusalMiddleware(), [ADDRESS], 1),
    "ModelRetryMiddleware": (lambda _: langchains.ModelRetryMiddleware(), [ADDRESS], 1),
    "PIIMiddleware": (
        lambda _: langchains.PIIMiddleware("email", apply_to_output=True, apply_to_tool_results=True),
        [ADDRESS],
        1,
    ),
    "ProviderToolSearchMiddleware": (lambda _: langchains.ProviderToolSearchMiddleware(), [ADDRESS], 1),
    "SummarizationMiddleware": (
        lambda _: langchains.SummarizationMiddleware(words(), trigger=("messages", 2), keep=("messages", 1)),
        [ADDRESS],
        1,
    ),
    "TodoListMiddleware": (lambda _: langchains.TodoListMiddleware(), [ADDRESS], 1),
    "ToolCallLimitMiddleware": (
        lambda _: langchains.ToolCallLimitMiddleware(tool_name="send", run_limit=0, exit_behavior="continue"),
        [],
        1,
    ),
    "ToolErrorMiddleware": (lambda _: langchains.ToolErrorMiddleware(every_error), [ADDRESS], 1),
    "ToolRetryMiddleware": (lambda _: langchains.ToolRetryMiddleware(max_retries=2), [ADDRESS], 1),
}
"""By class: how one is made, to whom mail goes after a yes to one of two mails, and how often the other tool runs."""

ELSEWHERE = {
    "ModelRouterMiddleware": "it chooses a model before the run and has no hook around calls or behind the model",
    "ShellToolMiddleware": "it brings a tool of its own; tests/wellknown",
}


def test_each_one_that_langchain_has_is_tried() -> None:
    assert set(RUN) | set(ELSEWHERE) == set(LANGCHAINS)
    router = vars(langchains.ModelRouterMiddleware)
    assert not {"wrap_tool_call", "after_model", "after_agent"} & set(router)


def beside(place: str, gate: ToolGate, other: Any) -> Sequence[Any]:
    return gate.around([other]) if place == "around it" else [other, ToolGateMiddleware(gate)]


@pytest.mark.parametrize(("place", "asynchronous"), [("around it", True), ("last", False)], ids=["around it", "last"])
@pytest.mark.parametrize("name", RUN)
def test_a_yes_runs_its_call_once_a_no_runs_nothing_and_none_dangles(
    name: str, place: str, asynchronous: bool, tmp_path: Path
) -> None:
    make, mails, reads = RUN[name]
    ran, gate = Recorder(), ToolGate()
    send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
    read = ran.tool("read", ToolProfile(tier=Tier.READ_ONLY))
    turn = says(call("send", "yes", to=ADDRESS), call("read", "r"), call("send", "no", to="bob"))
    talk = chat(
        [turn, AIMessage(f"Mail went to {ADDRESS}.")],
        [send, read],
        gate=gate,
        middleware=beside(place, gate, make(tmp_path)),
        asynchronous=asynchronous,
    )
    talk.say(f"Write to {ADDRESS}.")
    asked = []
    while talk.requests:
        asked.append(talk.request.arguments)
        assert ran.names == []
        talk.answer("approve" if talk.request.tool_call_id == "yes" else "reject")
    assert asked == [{"to": ADDRESS}, {"to": "bob"}]
    assert [arguments["to"] for tool, arguments in ran.runs if tool == "send"] == mails
    assert ran.count("read") == reads
    talk.say("And now?")
    told = Counter(one.tool_call_id for one in talk.messages if isinstance(one, ToolMessage))
    made = [one["id"] for message in talk.messages if isinstance(message, AIMessage) for one in message.tool_calls]
    assert told == Counter(made)
