"""`GatedAgent`s inside of a `GatedAgent`'s tools: their questions leave the tool, and their answers come back.

An agent that waits in there leaves the tool by an error that the agent around it takes for a pause. Its
conversation is kept in the session of that agent, under the call of the tool. When the answer is
there, the tool is entered again, and the agent in it goes on where it waited. What an agent in it had
ended with before is given back without running it again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.turn import TurnRecord
from toolgate_langchain.canonical import digest
from toolgate_langchain.errors import ConfigurationError, ToolGateError
from toolgate_langchain.hosts.gated.session import ApprovalSession
from toolgate_langchain.hosts.inside.agents_inside import can_ask, is_graph, runs_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = [
    "Children",
    "InnerPause",
    "check_questions_arrive",
    "request_ids_inside",
    "starts_agents",
    "waiting_inside",
]


class InnerPause(ToolGateError):  # it says what happens, and a `GatedAgent` around it takes it for that
    """An agent inside of a tool waits for a person."""


@dataclass(slots=True)
class Children:
    """The agents that run inside of one call of a tool."""

    saved: Mapping[str, Any] = field(default_factory=dict)
    """The conversations that were kept when the call was left, in their JSON form."""

    answering: str | None = None
    """The request that an answer has come for, and the answer, until it is taken."""
    given: list[Any] = field(default_factory=list)

    trusted: bool = True
    """Whether what was saved may be believed as much as the session that it was kept in."""

    now: dict[str, Any] = field(default_factory=dict)
    """The conversations as they are."""
    left: list[InnerPause] = field(default_factory=list)
    """The pauses with which agents leave this call, whatever the tool makes of them."""
    _met: Counter[str] = field(default_factory=Counter)

    def key(self, agent: str, words: Sequence[BaseMessage]) -> str:
        """Tells an agent that starts here from others; the same for the same one when the tool is entered again.

        Args:
            agent: The agent's name.
            words: What it was given.
        """
        same = digest("toolgate:inner:1", agent, *([word.type, repr(word.content)] for word in words))
        self._met[same] += 1
        return f"{same[:32]}-{self._met[same]}"

    def session(self, key: str) -> ApprovalSession | None:
        """The conversation that goes on under a key; `None` where one begins.

        Raises:
            SessionError: If it cannot be read.
        """
        saved = self.saved.get(key)
        return None if saved is None else replace(ApprovalSession.from_json(saved), trusted=self.trusted)

    def answer_for(self, session: ApprovalSession) -> list[Any]:
        """The answer to what a conversation waits for, at most once; empty where there is none."""
        waits = session.request is not None and session.request.request_id == self.answering
        return [self.given.pop()] if waits and self.given else []


def waiting_inside(sessions: Mapping[str, Any]) -> ApprovalRequest | None:
    """The first request among the conversations that are kept of a call.

    Raises:
        SessionError: If one cannot be read.
    """
    for saved in sessions.values():
        session = ApprovalSession.from_json(saved)
        if session.status == "waiting" and session.request is not None:
            return session.request
    return None


def request_ids_inside(inner: Mapping[str, Any]) -> Iterator[str]:
    """The ids of all requests of the turns that are open in the agents inside of calls.

    Args:
        inner: The conversations, by call and key.
    """
    for sessions in inner.values():
        for saved in sessions.values():
            turn = TurnRecord.from_json(saved.get("turn"))
            yield from () if turn is None else (call.request_id for call in turn.calls)
            yield from request_ids_inside(saved.get("inner") or {})


# --- what is known before anything runs -----------------------------------------------------------------


def starts_agents(held: Sequence[Any]) -> bool:
    """Whether a tool holds an agent. Running such a call again would run what the agent did again.

    Args:
        held: What `agents_held_by` found in the tool.
    """
    return any(not is_graph(agent) or runs_tools(agent) for agent in held)


def check_questions_arrive(tool: BaseTool, held: Sequence[Any], gate: ToolGate) -> None:
    """Refuse an agent of LangGraph whose questions a `GatedAgent` around it could not pass on.

    Args:
        tool: A tool of the `GatedAgent`.
        held: What `agents_held_by` found in it.
        gate: The gate.

    Raises:
        ConfigurationError: Naming the tool and what to do.
    """
    for agent in held:
        if is_graph(agent) and can_ask(agent, gate):
            raise ConfigurationError(
                f"the tool {tool.name!r} starts an agent of LangGraph ({agent.name!r}) that may have to ask a person; "
                "a GatedAgent keeps no checkpoints in which it could wait. Make that one a GatedAgent of the same gate "
                "too, or run this one with create_agent(..., middleware=[ToolGateMiddleware(gate)]), or give that one "
                "an unattended surface"
            )
