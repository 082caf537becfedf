"""One turn of the model, as it is saved: each call with what was judged and what was answered.

The record is plain JSON in the agent's private state. It is saved with the turn, before anybody is
asked, so that a replayed node asks the same questions in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from toolgate_langchain.approvals.preview import SavedPreview
from toolgate_langchain.canonical import digest
from toolgate_langchain.policy.approval_rule import AnswerType
from toolgate_langchain.policy.context import CallFacts, RunContext
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall

__all__ = ["CallRecord", "Outcome", "Run", "TurnRecord", "place_of", "raw_digest", "unasked_key"]

_FORMAT: Final = 1

Outcome = Literal["", "released", "approved", "edited", "rejected", "responded", "refused"]
"""What became of a call. Empty: it still waits. Released: no person was needed or asked."""

# Not strict: what is read back is JSON, where an enum is a string and a tuple a list.
_STATE = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: from input to the root graph until the agent ends; subagents share it."""

    id: str
    context: RunContext
    thread_id: str | None = None
    agent_path: tuple[str, ...] = ()
    start: str = ""
    """Tells one start of a subagent from the next in the same run; empty for the root."""
    agent: str = ""
    """The root agent's name, for subagents the same; empty where it has none."""

    @property
    def place(self) -> str | None:
        """What a ledger knows the conversation by: its thread, and whose thread that is where the agent has a name.

        Two agents may each count their threads from 1. Agents without a name are told apart by their threads alone.
        """
        return None if self.thread_id is None else place_of(self.thread_id, self.agent)


def place_of(thread_id: str, agent: str) -> str:
    """What a ledger knows a conversation by; see `Run.place`.

    Args:
        thread_id: The thread.
        agent: The root agent's name; empty where it has none.
    """
    # With its length, so that no name and no thread can be read as another pair of them.
    return f"{len(agent)}:{agent}:{thread_id}" if agent else thread_id


@checked_dataclass(kw_only=True, slots=True, config=_STATE)
class CallRecord:
    """One call of a turn: what was judged, and what was answered."""

    call_id: str
    name: str
    raw: str
    """Digest of the call as the model made it; another digest later means that it was changed."""
    request_id: str

    verdict: Verdict
    code: str
    layer: str
    reason: str
    needs_person: bool = False
    must_ask: bool = False

    # What was saved of the tool, so that another process can go on asking before it has seen it.
    origin: str = ""
    fingerprint: str = ""
    tier: Tier | None = None
    memory: Literal["never", "arguments", "tool"] = "never"

    allowed: tuple[AnswerType, ...] | None = None
    """The answers that its operator allows; `None` where nothing is said of it."""
    args_schema: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    """The schema of the fields that a person fills in; `None` where no input is asked for."""

    arguments: dict[str, Any] | None = None
    """The effective arguments; `None` where they are the model's own, or do not fit."""
    shown: str = ""
    """The effective arguments of a call that was asked about, as text, for telling two versions apart."""
    exact: bool = True
    sensitive: bool = False
    """Whether they hold something sensitive, which rules out remembering them."""
    digest: str = ""
    """What binds the grant: the digest of the call that may run."""

    predicate: bool | None = None
    heuristic: str | None = None
    heuristics_run: bool = False
    warnings: tuple[str, ...] = ()
    variant: bool = False
    at_cap: bool = False
    notes: tuple[str, ...] = ()
    preview: SavedPreview | None = None
    """What a person was shown that the call would do; `None` where its tool has no preview."""

    outcome: Outcome = ""
    message: str | None = None
    """The person's reason or text."""
    by: str | None = None

    @property
    def facts(self) -> CallFacts:
        """The saved outcomes, for judging the call again."""
        return CallFacts(
            predicate=self.predicate,
            heuristic=self.heuristic,
            heuristics_run=self.heuristics_run,
            warnings=self.warnings,
            variant=self.variant,
            at_cap=self.at_cap,
        )

    @property
    def person_released(self) -> bool:
        """Whether a person's approval or edit lets it run."""
        return self.outcome in ("approved", "edited")

    def refuse(self, code: str, reason: str) -> None:
        """Settle it: it does not run.

        Args:
            code: Why, as a `Code`.
            reason: Why, in words.
        """
        self.outcome, self.code, self.reason = "refused", code, reason


@checked_dataclass(kw_only=True, slots=True, config=_STATE)
class TurnRecord:
    """All calls of one turn."""

    turn_id: str
    run_id: str
    message_id: str
    """The id of the message that made the calls."""
    calls: list[CallRecord] = field(default_factory=list)
    settled: bool = False
    """Whether every call that needed a person has its answer."""
    ledger: str = ""
    """The identity of the ledger that it was judged with; empty for one that ends with its process."""
    read: dict[str, str] | None = None
    """What had been read before the turn, as the ledger notes it; `None` where no policy asks for it."""

    def call(self, call_id: str | None) -> CallRecord | None:
        """The record of a call by its id."""
        return next((call for call in self.calls if call.call_id == call_id), None)

    def to_json(self) -> dict[str, Any]:
        """The form that is kept in the agent's state; fields at their defaults are left out."""
        plain: dict[str, Any] = _TURN.dump_python(self, mode="json", exclude_defaults=True)
        return {"v": _FORMAT, **plain}

    @classmethod
    def from_json(cls, value: Any, *, only: str | None = None) -> TurnRecord | None:
        """Read a record back; `None` for anything that is not one, which releases nothing.

        Args:
            value: What `to_json` gave.
            only: The id of the one call to read, where each call of a long turn is looked at by itself.
        """
        if not isinstance(value, Mapping) or value.get("v") != _FORMAT:
            return None
        plain = {key: item for key, item in value.items() if key != "v"}
        if only is not None and isinstance(calls := plain.get("calls"), list):
            plain["calls"] = [one for one in calls if isinstance(one, Mapping) and one.get("call_id") == only]
        try:
            return _TURN.validate_python(plain)
        except ValidationError:
            return None


_TURN = TypeAdapter(TurnRecord)


def raw_digest(call: ToolCall | Mapping[str, Any]) -> str:
    """The digest of a call as the model made it, also for arguments that JSON cannot carry."""
    try:
        return digest("toolgate:raw:1", call["name"], call["args"])
    except ValueError:
        return digest("toolgate:raw:1:unreadable", call["name"], repr(call["args"])[:10_000])


def unasked_key(run_id: str, start: str, message_id: str, call_id: str) -> str:
    """What stands in for a request's id where nothing was saved of a call: its place in the run."""
    return digest("toolgate:unasked:1", run_id, start, message_id, call_id)[:32]
