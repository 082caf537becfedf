"""A conversation of a `GatedAgent` while it goes on: what a session is made of, and how it was resumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolgate_langchain.hosts.answering import AnswerResult
from toolgate_langchain.hosts.run_state import RULES, RUN, TURN
from toolgate_langchain.hosts.session import ApprovalSession, Status

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.hosts.agent_runs import AgentRuntime

__all__ = ["Progress"]


@dataclass(slots=True)
class Progress:
    """A conversation while it goes on."""

    where: AgentRuntime
    agent: str
    thread_id: str | None
    state: dict[str, Any]
    turns: int = 0
    status: Status = "open"
    request: ApprovalRequest | None = None
    answers: list[Any] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    """The answer that this run was resumed with, until the question it is for takes it."""

    answering: str | None = None
    """The request that it is for."""
    answer: AnswerResult | None = None
    """What became of it."""
    claimed: str | None = None
    """The request whose answer this run has claimed."""
    told: int = 0
    """Messages that whoever streams has seen."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The conversation."""
        messages: list[BaseMessage] = self.state["messages"]
        return messages

    def take(self, answer: Any) -> None:
        """Go on with an answer to the request that waits."""
        assert self.request is not None
        self.given, self.answering, self.status = [answer], self.request.request_id, "open"

    def became_of_the_answer(self) -> AnswerResult | None:
        """What became of the answer that the run was resumed with; `None` where there was none."""
        if self.answer is not None or self.answering is None:
            return self.answer
        if self.request is not None and self.request.request_id == self.answering:
            return AnswerResult("asked_again", self.request.error)
        return AnswerResult("accepted")

    def session(self) -> ApprovalSession:
        """What to keep of it."""
        return ApprovalSession(
            agent=self.agent,
            thread_id=self.thread_id,
            messages=tuple(self.messages),
            status=self.status,
            request=self.request,
            turns=self.turns,
            run=self.state.get(RUN) or {},
            turn=self.state.get(TURN) or {},
            rules=self.state.get(RULES) or {},
            answers=tuple(self.answers),
        )
