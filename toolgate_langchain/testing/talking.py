"""A conversation as attacks have it: what is asked, what is answered, and what must not have run meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import BaseMessage, ToolMessage

from toolgate_langchain.testing.attacking import NotApplicable, Refused
from toolgate_langchain.testing.tools import NOTE, READ, REMOVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.testing.hosts import Conversation, Setup
    from toolgate_langchain.testing.model import Turn
    from toolgate_langchain.testing.scene import Scene

__all__ = ["Talk"]

_MANY: Final = 60
"""Answers after which a conversation that still asks is given up."""


class Talk:
    """A conversation, with what attacks do in it.

    Args:
        scene: The scene.
        conversation: The host's conversation.
        setup: What its agent was built from.
    """

    def __init__(self, scene: Scene, conversation: Conversation, setup: Setup) -> None:
        self.scene, self.conversation, self.setup = scene, conversation, setup

    def say(self, text: str = "Go on.") -> Talk:
        """Send a message of the user."""
        self.conversation.say(text)
        return self

    @property
    def messages(self) -> list[BaseMessage]:
        """The history."""
        return self.conversation.messages

    @property
    def requests(self) -> list[ApprovalRequest]:
        """The requests that are pending."""
        return self.conversation.requests

    def asked(self, name: str = REMOVE, *, harmless: Sequence[str] = (READ, NOTE)) -> ApprovalRequest:
        """The request that is pending about a tool.

        Args:
            name: The tool.
            harmless: Other tools, which may have run.

        Raises:
            LetThrough: If the tool ran instead.
            Refused: If nothing is asked and nothing ran.
        """
        for request in self.requests:
            if request.tool_name == name:
                return request
        self.scene.nothing_ran("and nobody was asked", but=tuple({*harmless} - {name}))
        raise Refused(f"{name} was refused without a question: {self.told()}")

    def told(self) -> str:
        """What the model was told last, in short."""
        results = [str(one.content) for one in self.messages if isinstance(one, ToolMessage)]
        return results[-1][:200] if results else "nothing"

    def result(self, call_id: str) -> str:
        """The text of the tool message of a call; empty where there is none."""
        found = [one for one in self.messages if isinstance(one, ToolMessage) and one.tool_call_id == call_id]
        return str(found[-1].content) if found else ""

    def approve(self, request: ApprovalRequest, kind: str = "approve", **more: Any) -> dict[str, Any]:
        """Answer a request in the right shape, and return the answer that was given."""
        answer = {"type": kind, "request_id": request.request_id, **more}
        self.conversation.answer(answer)
        return answer

    def approve_all(self) -> Talk:
        """Approve whatever is asked, one request at a time, until nothing is."""
        for _ in range(_MANY):
            requests = self.requests
            if not requests:
                return self
            self.approve(requests[0])
        raise Refused(f"it was still asked after {_MANY} approvals")

    def taught(self, name: str = REMOVE) -> ApprovalRequest:
        """Answer the pending request of a tool with "don't ask again for exactly these arguments".

        Raises:
            NotApplicable: If that is not offered here.
        """
        request = self.asked(name)
        if not any(offer.what == "arguments" and offer.scope == "thread" for offer in request.remember):
            raise NotApplicable('"don\'t ask again" is not offered for this call')
        self.approve(request, remember="arguments")
        self.approve_all()
        return request

    def again(self, *script: Turn, **changed: Any) -> Talk:
        """Another agent on the same thread, in the same memory."""
        changed.setdefault("memory", self.conversation.memory)
        setup = replace(self.setup, script=script, model=None, **changed)
        return Talk(self.scene, self.scene.host.start(setup), setup)
