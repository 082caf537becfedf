"""One call at the last step: the call, its run, and what was saved of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord, unasked_key
from toolgate_langchain.hosts.engine.calls import last_ai_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.messages import ToolCall
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.attempts import CallStart
    from toolgate_langchain.approvals.recording.given import Question
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["Attempt", "CallRequest", "message_id"]


class CallRequest(Protocol):
    """One call on its way to its tool, as LangGraph's `ToolCallRequest` has it too."""

    @property
    def tool_call(self) -> ToolCall:
        """The call."""
        ...

    @property
    def tool(self) -> BaseTool | None:
        """The tool of that name, if the agent has it."""
        ...

    @property
    def state(self) -> Any:
        """The agent's state with the gate's channels."""
        ...

    @property
    def runtime(self) -> Any:
        """Where the run is driven from, as the settings of its runs read it."""
        ...

    def override(self, *, tool_call: ToolCall) -> Self:
        """The request with another call."""
        ...


@dataclass(slots=True)
class Attempt:
    """One call at the last step."""

    call: ToolCall
    run: Run
    state: Mapping[str, Any]
    turn: TurnRecord | None
    record: CallRecord | None
    entry: CatalogEntry | None
    question: Question | None = None
    """What `decide` was asked of it here, for the record."""
    written: bool = False
    """Whether that it runs is in the record."""
    reentered: bool = False
    """Whether it goes on where it paused inside. That it runs was told and written when it started."""
    change: str = ""
    """What changed after it was approved besides its arguments, as text that can be shown."""
    started: CallStart | None = None
    """How its right to start was used up, where it had to be."""
    starts_agents: bool = False
    """Whether an agent runs inside of it, so that running it again would run again what the agent did."""

    ask: Callable[[dict[str, Any]], Any] | None = None
    """How a person is asked about it where it would run, on hosts that hand that in; may suspend the run."""

    @property
    def approved(self) -> bool:
        """Whether a person's approval or edit lets it run."""
        return self.record is not None and self.record.person_released

    @property
    def repeatable(self) -> bool:
        """Whether it uses up no grant: running it again does no harm, and nobody was asked."""
        return self.entry is not None and self.entry.repeatable and not self.approved and not self.starts_agents

    @property
    def arguments(self) -> Any:
        """The saved effective arguments where there are some, else the model's own."""
        record = self.record
        return self.call["args"] if record is None or record.arguments is None else record.arguments

    @property
    def key(self) -> str:
        """The id under which a start is recorded: the request's, or one derived from the place of the call."""
        if self.record is not None:
            return self.record.request_id
        run = self.run
        return unasked_key(run.id, run.start, message_id(self.state), str(self.call["id"]))


def message_id(state: Mapping[str, Any]) -> str:
    """The id of the message that makes the calls."""
    message = last_ai_message(state["messages"])
    return "" if message is None else str(message.id)
