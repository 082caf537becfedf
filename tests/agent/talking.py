"""A conversation with a `GatedAgent`, driven answer by answer, synchronously or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from tests.support import Recorder, ScriptedModel, Turn, waited_for
from toolgate_langchain import ApprovalRequest, ApprovalSession, GatedAgent, Tier, ToolGate, ToolProfile

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)
KEY = b"a key of at least sixteen bytes"


@dataclass
class Talk:
    """An agent and what it said last."""

    agent: GatedAgent
    model: ScriptedModel
    ran: Recorder
    asynchronous: bool
    config: RunnableConfig = field(default_factory=RunnableConfig)
    output: Any = None

    def say(self, text: str = "go") -> Talk:
        """Send a message of the user, with the session where there is one."""
        given: dict[str, Any] = {"messages": [HumanMessage(text)]}
        return self.give({**given, "session": self.session} if self.output else given)

    def answer(self, kind: str = "approve", **more: Any) -> Talk:
        """Answer the pending request in the right shape."""
        return self.resume({"type": kind, "request_id": self.request.request_id, **more})

    def resume(self, answer: Any, session: Any = None) -> Talk:
        """Resume with a raw answer, the last session or another one."""
        return self.give({"session": self.session if session is None else session, "answer": answer})

    def give(self, given: Any) -> Talk:
        """Give the agent an input."""
        if self.asynchronous:
            self.output = waited_for(self.agent.ainvoke(given, self.config))
        else:
            self.output = self.agent.invoke(given, self.config)
        return self

    @property
    def session(self) -> ApprovalSession:
        session: ApprovalSession = self.output["session"]
        return session

    @property
    def request(self) -> ApprovalRequest:
        """The request that is pending."""
        request: ApprovalRequest | None = self.output["request"]
        assert request is not None
        return request

    @property
    def done(self) -> bool:
        """Whether nobody is asked."""
        return self.output["request"] is None

    @property
    def became(self) -> str:
        """What became of the last answer."""
        status: str = self.output["answer"].status
        return status

    @property
    def messages(self) -> list[BaseMessage]:
        messages: list[BaseMessage] = self.output["messages"]
        return messages

    @property
    def results(self) -> dict[str, str]:
        """The text of each call's tool message; there is exactly one for each."""
        found = [message for message in self.messages if isinstance(message, ToolMessage)]
        texts = {message.tool_call_id: str(message.content) for message in found}
        assert len(texts) == len(found)
        return texts


def talk(
    script: Iterable[Turn],
    tools: Sequence[BaseTool],
    ran: Recorder,
    *,
    asynchronous: bool,
    gate: ToolGate | None = None,
    thread: str | None = None,
    **options: Any,
) -> Talk:
    """An agent with a scripted model."""
    model = ScriptedModel(script=list(script))
    config: RunnableConfig = {} if thread is None else {"configurable": {"thread_id": thread}}
    return Talk(GatedAgent(model, tools, gate, **options), model, ran, asynchronous, config)
