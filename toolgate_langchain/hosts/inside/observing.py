"""Finding the gates of an agent that was built elsewhere, and listening to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.hosts.graphs.nodes import GateNode
from toolgate_langchain.hosts.langgraph.internals import owners_of_nodes
from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware

if TYPE_CHECKING:
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.record import CallOutcome, Observer

__all__ = ["gates_of", "observe"]


def gates_of(agent: Any) -> list[ToolGate]:
    """The gates of a compiled agent, each once; of its subagents' gates nothing is known here.

    Args:
        agent: What `create_agent` returned, or a compiled graph.
    """
    gates: list[ToolGate] = []
    for owner in owners_of_nodes(agent):
        if isinstance(owner, ToolGateMiddleware | GateNode) and all(owner.gate is not gate for gate in gates):
            gates.append(owner.gate)
    return gates


def observe(gate: ToolGate, observer: Observer) -> None:
    """Tell one more observer of every call at its end; the gate's own is told first.

    Args:
        gate: The gate.
        observer: Called with a `CallOutcome`.
    """
    first = gate.on_decision
    if first is None:
        gate.on_decision = observer
        return

    def both(outcome: CallOutcome) -> None:
        try:
            first(outcome)
        finally:
            observer(outcome)

    gate.on_decision = both
