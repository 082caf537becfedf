"""`ToolGateMiddleware`: the gate in the loop of `langchain.agents.create_agent`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Self, TypeVar

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
)
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, TracePolicy, omit_payload

from toolgate_langchain.approvals.steps import arun_steps, run_steps
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.offering import Offering
from toolgate_langchain.hosts.engine.running_here import check_awaited
from toolgate_langchain.hosts.gate import ToolGate
from toolgate_langchain.hosts.inside.agents_inside import AgentsInside
from toolgate_langchain.hosts.langgraph.behind import Behind, check_innermost
from toolgate_langchain.hosts.langgraph.enforcing import Enforcement
from toolgate_langchain.hosts.langgraph.results import own_result
from toolgate_langchain.hosts.langgraph.runs import AgentRuns, Setting
from toolgate_langchain.hosts.langgraph.turns import Turns

if TYPE_CHECKING:
    from langchain.agents.middleware import InterruptOnConfig
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool
    from langgraph.runtime import Runtime

__all__ = ["NeverAsks", "ToolGateMiddleware", "ToolGateState"]

_State = AgentState[Any]
_Middleware = AgentMiddleware[Any, Any, Any]


class ToolGateState(AgentState[Any]):
    """The gate's private channels; input to the graph cannot set them."""

    toolgate_run: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    toolgate_turn: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    toolgate_rules: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


def _gate(given: ToolGate | None) -> ToolGate:
    """The gate, or one with defaults.

    Raises:
        ConfigurationError: For anything else.
    """
    if given is not None and not isinstance(given, ToolGate):
        raise ConfigurationError(f"gate is {given!r}, which is not a ToolGate")
    return ToolGate() if given is None else given


_F = TypeVar("_F", bound=Callable[..., Any])


def _cheap_to_trace(hook: _F) -> _F:
    """Give a hook an explicit signature.

    LangChain wraps each hook for tracing and asks for its signature on every call, also when
    nothing is traced; working it out anew is most of what a hook costs.
    """
    hook.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("request", "handler")]
    )
    return hook


class ToolGateMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gates every tool call of an agent: offers, judges, asks, enforces.

    With no arguments at all it is the safest gate: every tool is unclassified, every call is asked
    about. On its own it belongs last in `create_agent(middleware=[...])`; among others that change
    calls, retry or add tools, use `gate.around([...])`. Middleware that wraps tool calls and stands
    behind the gate fails the run at its start with an error that says so.

    Args:
        gate: The gate; `None` makes one with defaults.
        surface: Where the agent is driven from: a surface of the gate, its name, or a function of
            the `Runtime` that gives one. Read once when a run starts, like all that follow.
        caller: For whom: a `Caller`, `None`, or a function of the runtime.
        configuration: What runs may use: a `RunConfiguration`, `None`, or a function of the runtime.
        zone: Where the run's models run: a `TrustZone`, one per model, `None`, or a function of the
            runtime.

    Raises:
        ConfigurationError: (a `ValueError`) when built, for a surface or group that does not exist.
            An attended agent without a checkpointer fails at its first run, before the model is
            called (`MissingCheckpointerError`).
    """

    state_schema = ToolGateState
    # Spans keep their timing; the conversation is recorded by the model's own span already, and
    # what the gate decided must not be readable wherever traces go.
    trace_policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
    leaves_the_loop = False
    """Whether a turn that needs a person is asked about where the agent would end."""

    def __new__(
        cls,
        gate: ToolGate | None = None,
        *,
        surface: Setting = "chat",
        caller: Setting = None,
        configuration: Setting = None,
        zone: Setting = None,
    ) -> Self:
        """Make a middleware without the asking hook where nothing can ever be asked.

        A hook that is there costs a step of the graph in every turn, and a checkpoint with it.
        """
        if cls is ToolGateMiddleware:
            gate = _gate(gate)
            runs = AgentRuns(gate, surface=surface, caller=caller, configuration=configuration, zone=zone)
            if not runs.can_ask():
                return super().__new__(NeverAsks)  # type: ignore[return-value]
        return super().__new__(cls)

    def __init__(
        self,
        gate: ToolGate | None = None,
        *,
        surface: Setting = "chat",
        caller: Setting = None,
        configuration: Setting = None,
        zone: Setting = None,
    ) -> None:
        super().__init__()
        self.gate = _gate(gate)
        self.work_with(AgentRuns(self.gate, surface=surface, caller=caller, configuration=configuration, zone=zone))
        self.tools: list[BaseTool] = []
        self._install_hooks()

    def _install_hooks(self) -> None:
        """Put functions with explicit signatures in place of the bound methods, which LangChain wraps."""
        for name in ("wrap_model_call", "awrap_model_call", "wrap_tool_call", "awrap_tool_call"):
            method = getattr(self, name)

            def hook(request: Any, handler: Any, method: Any = method) -> Any:
                return method(request, handler)

            hook.__name__ = name
            setattr(self, name, _cheap_to_trace(hook))

    @property
    def name(self) -> str:
        """The name of the middleware, the same for each of its forms."""
        return "ToolGateMiddleware"

    def work_with(self, runs: AgentRuns) -> None:
        """Work for an agent's runs, which the parts of one gate share."""
        if (before := getattr(self, "_runs", None)) is not None:
            before.gate.named.forget(before)
        self._runs = runs
        self._offer = Offering(runs, AgentsInside(runs.gate).check).offer
        self._turns = Turns(runs)
        self._enforcement = Enforcement(runs)
        # Once more, at a tool's first call: what a function is closed over may be filled by then.
        self._agents_inside = AgentsInside(runs.gate)
        self._behind = Behind(
            lambda one: isinstance(one, ToolGateMiddleware) and one.runs is runs, partial(runs.gate.named.meet, runs)
        )

    @property
    def runs(self) -> AgentRuns:
        """What is known of the agent's runs and tools."""
        return self._runs

    def check_place(self) -> None:
        """Refuse to start a run of an agent in which this form of the gate could not ask.

        Raises:
            ConfigurationError: Naming the hook that stands in the way.
        """

    # --- LangChain's hooks --------------------------------------------------------------------

    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Close what is pending and start a run."""
        self.check_place()
        self._behind.check()
        return run_steps(self._runs.begin(state, runtime, asynchronous=False))

    def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> Coroutine[Any, Any, dict[str, Any] | None]:
        """As `before_agent`, for asynchronous runs."""
        self.check_place()
        self._behind.check()
        return arun_steps(self._runs.begin(state, runtime, asynchronous=True))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Any:
        """Offer only what the gate offers, and judge the turn."""
        run = self._runs.run_of(request.state, request.runtime)
        request = self._offer(request, run)
        answer = handler(request)
        if self._runs.kept:
            run_steps(self._runs.forget_results(run))
        if self._turns.nothing_to_judge(request, answer, run):
            return answer
        return run_steps(self._turns.judge_steps(request, handler, answer, jump=self.leaves_the_loop))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Any:
        """As `wrap_model_call`, for asynchronous runs."""
        run = self._runs.run_of(request.state, request.runtime)
        request = self._offer(request, run)
        answer = await handler(request)
        if self._runs.kept:
            await arun_steps(self._runs.forget_results(run))
        if self._turns.nothing_to_judge(request, answer, run):
            return answer
        return await arun_steps(self._turns.judge_steps(request, handler, answer, jump=self.leaves_the_loop))

    def after_model(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask about the calls of the turn that need a person, one at a time."""
        if self._turns.nothing_to_ask(state, runtime):
            return None
        return run_steps(self._turns.ask_steps(state, runtime))

    def aafter_model(self, state: _State, runtime: Runtime[Any]) -> Coroutine[Any, Any, dict[str, Any] | None]:
        """As `after_model`, for asynchronous runs."""
        if self._turns.nothing_to_ask(state, runtime):
            return _nothing()
        return arun_steps(self._turns.ask_steps(state, runtime))

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Check one call for the last time and let it run, or give its refusal."""
        check_innermost(handler)
        self._agents_inside.check(request.tool)
        released = self._enforcement.at_once(request)
        result: ToolMessage | Command[Any]
        if released is None:
            result = run_steps(self._enforcement.tool_steps(request, handler))
            return result
        check_awaited(request.tool, handler)
        request, inside = released
        try:
            with inside:
                result = own_result(request.tool_call, handler(request))
        except GraphBubbleUp as leaving:
            return run_steps(self._enforcement.after_leaving(request, leaving))
        return result

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """As `wrap_tool_call`, for asynchronous runs."""
        check_innermost(handler)
        self._agents_inside.check(request.tool)
        released = self._enforcement.at_once(request)
        result: ToolMessage | Command[Any]
        if released is None:
            result = await arun_steps(self._enforcement.tool_steps(request, handler))
            return result
        request, inside = released
        try:
            with inside:
                result = own_result(request.tool_call, await handler(request))
        except GraphBubbleUp as leaving:
            return await arun_steps(self._enforcement.after_leaving(request, leaving))
        return result

    # --- LangChain's own configuration --------------------------------------------------------

    @classmethod
    def from_interrupt_on(cls, interrupt_on: Mapping[str, bool | InterruptOnConfig], **options: Any) -> Self:
        """The gate for a configuration of LangChain's `HumanInTheLoopMiddleware`.

        `True` and an `InterruptOnConfig` keep their meaning: the tool is asked about, the answers are
        those that are allowed (the request says which), `when` decides which calls are asked about, and
        `False` auto-approves. What a person says reaches the model in words of this package.

        Deliberately stricter:

        - A tool that is not listed is not auto-approved: it is judged as by default, by its tier.
        - `False` lifts no `requires_approval` and no `approval_when` of the tool's own profile, and no
          declaration of its server's record.
        - `False`, and a `when` that says `False`, count as auto-approved: after 40 such turns in a row
          (`max_auto_approvals`) a person is asked. A tier on the tool needs no approval and no count.
        - `when` releases a call with exactly `False`; `None` or `0` do not. It is asked once, before the
          model's message is in the state, with the arguments as they will run, and never on a resume.
        - A `description` is shown beside the call, never in its place, with hidden characters visible.
        - Calls are asked about one at a time, and an answer names its request; `answers="lenient"` takes
          those of screens that cannot. An answer that is not allowed is asked again and raises nothing;
          a rejection is always possible.
        - An edit stays with its tool and its schema, and is judged like a new call.
        - A rejected call that is proposed again in the run is refused without asking.
        - Nobody is asked about a call of no tool, or with arguments that do not fit its tool: the model
          reads what is wrong with it.
        - One turn asks about at most 20 calls (`max_requests_per_turn`); the rest are refused. Three
          answers to one request that cannot be used are a rejection.
        - An approval is for the call as it was shown, once: from an older checkpoint it runs nothing again.
        - Without a checkpointer the first run fails, before the model is called.
        - On an unattended surface nothing waits: what would be asked about is refused.
        - A misspelt key of the configuration is an error.

        Args:
            interrupt_on: Tools by name: a bool, or `allowed_decisions` with `description` and `when`
                (`args_schema` is taken and not used, as there).
            **options: What `ToolGate` and this class take, except `gate` and `describe`.

        Raises:
            ConfigurationError: (a `ValueError`) naming the tool, what was given and what is allowed.
        """
        from toolgate_langchain.hosts.langgraph.interrupt_on import gate_for

        gate, where = gate_for(interrupt_on, options)
        return cls(gate, **where)


async def _nothing() -> None:
    """An update that changes nothing."""


class NeverAsks(ToolGateMiddleware):
    """The form for agents that can never ask: LangChain does not see an `after_model` hook."""

    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model
