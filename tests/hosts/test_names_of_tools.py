"""Two tools of one name are never offered to a model, which could mean either: an error that names it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest
from langchain_core.tools import BaseTool

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import Tier, ToolCatalog, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.errors import ConfigurationError, ToolGateWarning

READ = ToolProfile(tier=Tier.READ_ONLY)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)


class Adds(AgentMiddleware[Any, Any, Any]):
    """A middleware that adds a tool to what the model is offered."""

    def __init__(self, tool: BaseTool) -> None:
        super().__init__()
        self.tool = tool

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[..., Any]) -> Any:
        return handler(request.override(tools=[*request.tools, self.tool]))


def refused(talk: Chat) -> None:
    with pytest.raises(ConfigurationError, match="two tools of the agent are named 'send'; rename one"):
        talk.say()
    assert talk.model.seen == []


@pytest.mark.parametrize("added", [READ, CONSEQUENTIAL], ids=["a milder one", "a stricter one"])
def test_another_middleware_adds_a_tool_of_a_name_that_the_agent_has(added: ToolProfile) -> None:
    ran, gate = Recorder(), ToolGate()
    own = CONSEQUENTIAL if added is READ else READ
    others = [Adds(ran.tool("send", added)), ToolGateMiddleware(gate)]
    refused(chat([], [ran.tool("send", own)], gate=gate, middleware=others))


def test_a_tool_that_the_provider_runs_does_not_take_the_profile_of_one_that_runs_here() -> None:
    tools: list[Any] = [Recorder().tool("send", READ), {"type": "send"}]
    refused(chat([], tools))


@pytest.mark.parametrize("runs_here", [True, False], ids=["registered as a tool that runs here", "control"])
def test_nor_that_of_one_that_the_gate_knows_from_another_agent(runs_here: bool) -> None:
    catalog = ToolCatalog.from_tools([Recorder().tool("send", READ)] if runs_here else [])
    if not runs_here:
        catalog.register_provider_tool("send", READ)
    tools: list[Any] = [{"type": "send"}]
    talk = chat([], tools, gate=ToolGate(catalog))
    with pytest.warns(ToolGateWarning, match="'send' is not offered") if runs_here else nullcontext():
        talk.say()
    assert talk.model.offered == ([] if runs_here else [["send"]])


def test_names_that_differ_in_a_letter_and_one_tool_given_twice_are_no_error() -> None:
    """The positive control."""
    ran, gate = Recorder(), ToolGate()
    send = ran.tool("send", READ)
    others = [Adds(send), ToolGateMiddleware(gate)]
    talk = chat([says(call("send", "s"))], [send, ran.tool("Send", READ)], gate=gate, middleware=others)
    talk.say()
    assert (ran.names, talk.requests) == (["send"], [])
