"""What the suite needs of a host: an agent behind a gate, and a conversation with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.policy.caller import Caller, RunConfiguration
    from toolgate_langchain.testing.model import Turn

__all__ = ["ABILITIES", "CHECKPOINTS", "MIDDLEWARE", "STATE", "SUBAGENTS", "Conversation", "Host", "Setup"]

CHECKPOINTS: Final = "checkpoints"
MIDDLEWARE: Final = "other middleware"
STATE: Final = "state"
SUBAGENTS: Final = "subagents"

ABILITIES: Final = {
    CHECKPOINTS: "keeps checkpoints that a run can go on from",
    MIDDLEWARE: "takes other middleware beside the gate",
    STATE: "has a state that input or a tool's command could write",
    SUBAGENTS: "can be used as a tool by another agent and ask through it",
}
"""What not every host can do, in words that follow its name."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What an agent is built from."""

    gate: ToolGate
    script: Sequence[Turn]
    tools: Sequence[BaseTool]
    surface: str
    caller: Caller | None = None
    configuration: RunConfiguration | None = None
    others: Sequence[Any] = ()
    """Other middleware, for hosts that take it, where it belongs."""
    behind: Sequence[Any] = ()
    """Other middleware between the gate and the tools, where it does not belong."""
    thread: str = field(default_factory=lambda: uuid4().hex)
    memory: Any = None
    """What `Conversation.memory` of an earlier agent gave: threads and what is remembered with them."""
    model: Any = None
    """The model, in place of one with the script."""


class Conversation(Protocol):
    """One thread with one agent."""

    @property
    def memory(self) -> Any:
        """What keeps the thread, to be given to an agent that goes on with it."""
        ...

    @property
    def requests(self) -> list[ApprovalRequest]:
        """The requests that are pending."""
        ...

    @property
    def messages(self) -> list[BaseMessage]:
        """The history of the thread."""
        ...

    @property
    def offered(self) -> list[list[str]]:
        """The tools that the model was offered, for each time that tools were."""
        ...

    def say(self, text: str) -> None:
        """Send a message of the user."""
        ...

    def give(self, messages: Sequence[BaseMessage], state: dict[str, Any] | None = None) -> None:
        """Give the agent messages as its input, with whatever else may go into its state."""
        ...

    def answer(self, answer: Any) -> None:
        """Send an answer in whatever shape, as a screen would; one that cannot be taken changes nothing."""
        ...

    def go_on(self) -> None:
        """Go on after an error, as a worker would that takes the run over."""
        ...

    def replay(self, answer: Any = None) -> None:
        """Go on from every checkpoint that the thread ever had, with an answer where one is given."""
        ...

    def fork(self, messages: Sequence[BaseMessage], state: dict[str, Any] | None = None) -> None:
        """Write into the latest state what only whoever may write checkpoints can, and go on from there."""
        ...


class Host(Protocol):
    """One way in which agents are built behind a gate."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def asynchronous(self) -> bool:
        """Whether its agents are driven asynchronously."""
        ...

    @property
    def abilities(self) -> frozenset[str]:
        """What it can do, of `ABILITIES`."""
        ...

    def start(self, setup: Setup) -> Conversation:
        """Build an agent and begin a conversation with it."""
        ...

    def as_tool(self, name: str, setup: Setup) -> BaseTool:
        """Build an agent that is a tool of another one; it has no memory of its own."""
        ...
