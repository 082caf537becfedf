"""What a turn is judged on, and what came out for each of its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import ToolCall

from toolgate_langchain.approvals.heuristics import HeuristicContext
from toolgate_langchain.canonical import copy_plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.messages import BaseMessage

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.policy.context import CallFacts, RulesInForce, RunMemory
    from toolgate_langchain.policy.decide import ProposedCall
    from toolgate_langchain.policy.decision import Decision
    from toolgate_langchain.policy.history import History

__all__ = ["Judged", "Judging", "for_operators"]


@dataclass(frozen=True, slots=True)
class Judging:
    """What is the same for all calls of a turn."""

    run: Run
    rules: RulesInForce
    memory: RunMemory
    stopped: bool
    at_cap: bool
    messages: Sequence[BaseMessage]
    state: Mapping[str, Any]
    history: History | None = None


class Judged(NamedTuple):
    """One call, as it was judged."""

    call: ToolCall
    proposed: ProposedCall
    facts: CallFacts
    decision: Decision


def for_operators(call: ToolCall, proposed: ProposedCall, about: Judging) -> tuple[ToolCall, HeuristicContext]:
    """One call and what surrounds it, as an operator's functions get it: a copy, so that none changes what runs.

    Args:
        call: The call.
        proposed: It with its tool and its effective arguments.
        about: Its turn.
    """
    entry, arguments, context = proposed.entry, proposed.arguments, about.run.context
    assert entry is not None and arguments is not None
    effective = ToolCall(name=call["name"], args=copy_plain(arguments.values), id=call["id"], type="tool_call")
    messages, state, history = about.messages, about.state, about.history
    return effective, HeuristicContext(entry, context.surface, context.caller, messages, state, history)
