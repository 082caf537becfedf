"""A conversation of a `GatedAgent` while it goes on: what a session is made of, and how it was resumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import AlreadyAnsweredError, LedgerError
from toolgate_langchain.hosts.engine.answering import AnswerResult
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, TURN
from toolgate_langchain.hosts.gated.children import Children, InnerPause, waiting_inside
from toolgate_langchain.hosts.gated.session import ApprovalSession, Status
from toolgate_langchain.hosts.gated.tools import OutcomeWaits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage, ToolCall

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.hosts.gated.runs import AgentRuntime

__all__ = ["Progress"]

_NOT_ENDED: Final = (InnerPause, OutcomeWaits, AlreadyAnsweredError, LedgerError)
"""What a call leaves with that is not over: it pauses, a person says what became of it, or it did not begin here."""


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
    unknown: str | None = None
    """The call of this agent of which it says what became, where it is an answer to that question."""
    answer: AnswerResult | None = None
    """What became of it."""
    claimed: str | None = None
    """The request whose answer this run has claimed."""
    left: bool = False
    """Whether the answer is one that the ledger had, and that nobody gave to this run."""
    inner: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The conversations of agents that wait inside of calls of the last turn, by call and key."""
    trusted: bool = True
    """Whether the session that it goes on from was made here or its signature was checked."""
    key: str | None = None
    """Under which it is kept in the call that the agent runs in, where it is."""
    told: int = 0
    """Messages that whoever streams has seen."""
    saved: bool = False
    """Whether each step is kept, before the next one begins, where the conversation goes on from after a failure."""
    further: bool = False
    """Whether its model had a turn since it was entered, so that it has what all turns before that one gave."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The conversation."""
        messages: list[BaseMessage] = self.state["messages"]
        return messages

    def take(self, answer: Any) -> None:
        """Go on with an answer to the request that waits."""
        request = self.request
        assert request is not None
        self.given, self.answering, self.status = [answer], request.request_id, "open"
        inside = (waiting_inside(sessions) for sessions in self.inner.values())
        of_this_agent = all(one is None or one.request_id != request.request_id for one in inside)
        self.unknown = request.tool_call_id if request.kind == "outcome" and of_this_agent else None

    def ask_of_outcome(self, shown: dict[str, Any]) -> Any:
        """The answer to the question what became of a call, where the run was resumed with it.

        Raises:
            OutcomeWaits: If the session has to wait for it.
        """
        if not self.given or shown["toolgate"]["request_id"] != self.answering:
            raise OutcomeWaits(shown)
        return self.given.pop()

    # --- agents inside of calls -----------------------------------------------------------------

    def entered(self, calls: Sequence[ToolCall]) -> list[tuple[ToolCall, Children | None]]:
        """The calls that run now, with what was kept of the agents inside of them.

        A call in which an agent still waits for another answer is not entered: its tool would start from
        its beginning for nothing.

        Args:
            calls: The open calls of the last turn.
        """
        around = current_run.get()
        if around is not None and around.children is None:
            return [(call, None) for call in calls]  # a question inside would have no way out of here either
        entered: list[tuple[ToolCall, Children | None]] = []
        for call in calls:
            saved = self.inner.get(str(call["id"]), {})
            request = waiting_inside(saved)
            answered = request is not None and request.request_id == self.answering
            if request is not None and not answered and str(call["id"]) != self.unknown:
                continue
            given = [self.given.pop()] if answered and self.given else []
            entered.append((call, Children(saved, self.answering, given, self.trusted)))
        return entered

    def leave(self, call_id: str, children: Children | None, outcome: Any) -> None:
        """Keep the agents inside of a call that may yet be entered; those of a call that ended are forgotten."""
        self.inner.pop(call_id, None)
        if children is not None and isinstance(outcome, _NOT_ENDED):
            self.inner[call_id] = {**children.saved, **children.now}

    def waits_inside(self, calls: Sequence[ToolCall]) -> str | None:
        """The first of the open calls in which an agent waits, by its id; that agent's request is asked about now."""
        for call in calls:
            request = waiting_inside(self.inner.get(str(call["id"]), {}))
            if request is not None:
                self.request, self.status = request, "waiting"
                return str(call["id"])
        self.request = None
        return None

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
            inner=dict(self.inner),
        )
