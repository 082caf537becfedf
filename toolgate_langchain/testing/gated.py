"""`GatedAgent`, which runs the loop itself and keeps a conversation as a session."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import HumanMessage

from toolgate_langchain.catalog.profile import tool_profile
from toolgate_langchain.errors import SessionError
from toolgate_langchain.hosts.gated.agent import GatedAgent
from toolgate_langchain.testing.agents import finish
from toolgate_langchain.testing.hosts import CHECKPOINTS, SUBAGENTS, Setup
from toolgate_langchain.testing.model import ScriptedModel
from toolgate_langchain.testing.tools import Task, made_tool
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.hosts.gated.session import ApprovalSession
    from toolgate_langchain.testing.hosts import Host

__all__ = ["GatedHost", "gated_as_tool", "gated_hosts"]


class _Sessions:
    """A conversation whose thread is kept as sessions, one for each step."""

    def __init__(self, setup: Setup, *, asynchronous: bool) -> None:
        self.memory: dict[str, list[ApprovalSession]] = setup.memory if setup.memory is not None else {}
        self._kept = self.memory.setdefault(setup.thread, [])
        self._asynchronous = asynchronous
        self._model = setup.model if setup.model is not None else ScriptedModel(script=list(setup.script))
        self._config: Any = {"configurable": {"thread_id": setup.thread}}
        self._agent = GatedAgent(
            self._model,
            list(setup.tools),
            setup.gate,
            surface=setup.surface,
            caller=setup.caller,
            configuration=setup.configuration,
            keep=self._kept.append,
        )

    @property
    def requests(self) -> list[ApprovalRequest]:
        """See `Conversation.requests`."""
        request = self._kept[-1].request if self._kept else None
        return [] if request is None else [request]

    @property
    def messages(self) -> list[BaseMessage]:
        """See `Conversation.messages`."""
        return list(self._kept[-1].messages) if self._kept else []

    @property
    def offered(self) -> list[list[str]]:
        """See `Conversation.offered`."""
        offered: list[list[str]] = getattr(self._model, "offered", [])
        return offered

    def say(self, text: str) -> None:
        """See `Conversation.say`."""
        self.give([HumanMessage(text)])

    def give(self, messages: Sequence[BaseMessage], state: dict[str, Any] | None = None) -> None:
        """See `Conversation.give`."""
        session = {"session": self._kept[-1]} if self._kept else {}
        self._invoke({"messages": list(messages), **session})

    def answer(self, answer: Any) -> None:
        """See `Conversation.answer`."""
        self._invoke({"session": self._kept[-1], "answer": answer})

    def go_on(self) -> None:
        """See `Conversation.go_on`."""
        self._invoke({"session": self._kept[-1]})

    def replay(self, answer: Any = None) -> None:
        """See `Conversation.replay`."""
        for session in list(self._kept):
            with suppress(SessionError):
                self._invoke({"session": session} if answer is None else {"session": session, "answer": answer})

    def fork(self, messages: Sequence[BaseMessage], state: dict[str, Any] | None = None) -> None:
        """See `Conversation.fork`."""
        last = self._kept[-1]
        self._invoke({"session": replace(last, messages=(*last.messages, *messages), status="open", request=None)})

    def _invoke(self, given: dict[str, Any]) -> None:
        if self._asynchronous:
            output = finish(self._agent.ainvoke(given, self._config))
        else:
            output = self._agent.invoke(given, self._config)
        self._kept.append(output["session"])


class GatedHost:
    """`GatedAgent`s.

    Args:
        asynchronous: Whether to drive them asynchronously.
    """

    name = "GatedAgent"
    abilities = frozenset({CHECKPOINTS, SUBAGENTS})

    def __init__(self, *, asynchronous: bool) -> None:
        self.asynchronous = asynchronous

    def start(self, setup: Setup) -> _Sessions:
        """See `Host.start`."""
        return _Sessions(setup, asynchronous=self.asynchronous)

    def as_tool(self, name: str, setup: Setup) -> BaseTool:
        """See `Host.as_tool`."""
        return gated_as_tool(name, setup)


def gated_as_tool(name: str, setup: Setup) -> BaseTool:
    """A `GatedAgent` as a tool that takes a task and gives the agent's last message.

    Args:
        name: The tool's name.
        setup: What the agent is built from.
    """
    agent = GatedAgent(
        ScriptedModel(script=list(setup.script)),
        list(setup.tools),
        setup.gate,
        surface=setup.surface,
        caller=setup.caller,
        configuration=setup.configuration,
    )

    def run(task: str) -> str:
        return str(agent.invoke(task)["messages"][-1].text)

    async def arun(task: str) -> str:
        return str((await agent.ainvoke(task))["messages"][-1].text)

    made = made_tool(name, run, arun, schema=Task, description="Give a task to another agent.")
    return tool_profile(tier=Tier.READ_ONLY)(made)


def gated_hosts() -> list[Host]:
    """`GatedAgent`, driven synchronously and asynchronously."""
    return [GatedHost(asynchronous=False), GatedHost(asynchronous=True)]
