"""The gate around other middleware: an outer part that judges and asks, an inner one that enforces.

What others rewrite, retry or cache is judged as it will run, and nothing changes a call after the
last check. Knowing the others also tells which form of asking costs least among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware.types import AgentMiddleware, AgentState, hook_config

from toolgate_langchain.approvals.steps import arun_steps, run_steps
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.checks import check_lists
from toolgate_langchain.hosts.langgraph.internals import check_nothing_follows_the_model
from toolgate_langchain.hosts.langgraph.middleware import NeverAsks, ToolGateMiddleware

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from langchain.agents.middleware.types import ModelRequest
    from langgraph.runtime import Runtime

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.hosts.langgraph.runs import AgentRuns

__all__ = ["place_around"]

_Middleware = AgentMiddleware[Any, Any, Any]
_HOOKS_IN_THE_WAY: Final = ("after_model", "aafter_model", "after_agent", "aafter_agent")


def place_around(gate: ToolGate, others: Sequence[_Middleware], **options: Any) -> list[_Middleware]:
    """The gate around other middleware, in the form that costs least among them.

    Args:
        gate: The gate.
        others: The other middleware, in their order.
        **options: As for `ToolGateMiddleware`.

    Raises:
        ConfigurationError: If one of the others is no middleware.

    Returns:
        One middleware where there are no others; else an outer and an inner part that share one
        agent's runs, and the others between them.
    """
    check_lists({"others": others})
    for position, other in enumerate(others):
        if not isinstance(other, AgentMiddleware):
            raise ConfigurationError(f"others[{position}] is {other!r}, which is not a middleware")
    inner = _OfferAndEnforce(gate, **options)
    can_ask = inner.runs.can_ask()
    if not others:
        gate.named.forget(inner.runs)
        return [(_AsksWhenNeeded if can_ask else NeverAsks)(gate, **options)]
    asking = _JudgeAndAsk if any(map(_stands_in_the_way, others)) else _JudgeAndAskWhenNeeded
    outer = (asking if can_ask else _JudgeOnly)(gate, **options)
    inner.work_with(outer.runs)
    return [outer, *others, inner]


def _stands_in_the_way(middleware: _Middleware) -> bool:
    """Whether LangChain gives a middleware a node between the model and its tools, or at the agent's end."""
    kind = type(middleware)
    return any(getattr(kind, hook) is not getattr(AgentMiddleware, hook) for hook in _HOOKS_IN_THE_WAY)


def _as_it_is(request: ModelRequest[Any], run: Run) -> ModelRequest[Any]:
    return request


class _AsksWhenNeeded(ToolGateMiddleware):
    """The form for agents in which no other hook stands between the model's turn and its tools.

    A hook after the model costs a step of the graph, and a checkpoint, in every turn, also in the
    many that need nobody. Here only a turn that needs a person leaves the loop, is asked about where
    the agent would end, and goes on to its tools from there. Another hook in between would lose the
    way out, so a run of such an agent fails at its start.
    """

    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model
    leaves_the_loop = True

    def check_place(self) -> None:
        """See `ToolGateMiddleware.check_place`."""
        check_nothing_follows_the_model(f"{self.name}.after_agent")

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Any:
        """Ask about a turn that left the loop for it, and let its calls go on to the tools."""
        return run_steps(self._turns.ask_and_go_on_steps(state, runtime))

    @hook_config(can_jump_to=["model"])
    def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Coroutine[Any, Any, Any]:
        """As `after_agent`, for asynchronous runs."""
        return arun_steps(self._turns.ask_and_go_on_steps(state, runtime))


class _JudgeAndAsk(ToolGateMiddleware):
    """The outer part of the pair: judges what all others made of the turn, and asks."""

    wrap_tool_call = AgentMiddleware.wrap_tool_call
    awrap_tool_call = AgentMiddleware.awrap_tool_call

    def work_with(self, runs: AgentRuns) -> None:
        """See `ToolGateMiddleware.work_with`. The inner part offers: it sees the tools that the others add."""
        super().work_with(runs)
        self._offer = _as_it_is


class _JudgeAndAskWhenNeeded(_JudgeAndAsk, _AsksWhenNeeded):
    """The outer part where none of the others stands between the model's turn and its tools."""


class _JudgeOnly(_JudgeAndAsk):
    """The outer part for agents that can never ask."""

    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model


class _OfferAndEnforce(ToolGateMiddleware):
    """The inner part of the pair: sees the tools that all others added, and is the last before a tool."""

    before_agent = AgentMiddleware.before_agent
    abefore_agent = AgentMiddleware.abefore_agent
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    @property
    def name(self) -> str:
        """The name of the inner part; LangChain wants each middleware to have its own."""
        return "ToolGateMiddleware.enforce"

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Offer only what the gate offers."""
        return handler(self._offer(request, self._runs.run_of(request.state, request.runtime)))

    def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """As `wrap_model_call`, for asynchronous runs."""
        return handler(self._offer(request, self._runs.run_of(request.state, request.runtime)))
