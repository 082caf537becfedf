"""Running a tool with langchain-core alone, and making exactly one tool message of what it gave."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool
from pydantic import ValidationError

from toolgate_langchain.approvals.carrying import AtOnce
from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.catalog.injected import names_for_langgraph
from toolgate_langchain.errors import AlreadyAnsweredError, ConfigurationError
from toolgate_langchain.hosts.engine.last_look import denied
from toolgate_langchain.hosts.engine.last_step import LastStep
from toolgate_langchain.hosts.engine.outcomes import Question
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.recording import again
from toolgate_langchain.hosts.engine.refusal import stopped, with_notice
from toolgate_langchain.hosts.engine.telling import refuse
from toolgate_langchain.hosts.gated.children import InnerPause
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.attempt import Attempt, CallRequest
    from toolgate_langchain.hosts.engine.base_runs import Runs
    from toolgate_langchain.hosts.engine.parent_run import ParentRun
    from toolgate_langchain.hosts.gated.children import Children
    from toolgate_langchain.hosts.gated.retrying import Retry
    from toolgate_langchain.hosts.gated.runs import AgentRuntime

__all__ = ["AgentLastStep", "CallToRun", "OutcomeWaits", "read_tools"]

logger = logging.getLogger("toolgate_langchain")


class OutcomeWaits(Exception):  # it says what happens, and never leaves the agent
    """A person has to say what became of a call before its turn goes on."""

    def __init__(self, shown: dict[str, Any]) -> None:
        self.shown = shown


@dataclass(frozen=True, slots=True)
class CallToRun:
    """One call of a turn on its way to its tool (a `CallRequest`)."""

    tool_call: ToolCall
    tool: BaseTool | None
    state: Mapping[str, Any]
    runtime: AgentRuntime
    children: Children | None = None
    """The agents that run inside of it."""
    ask: Callable[[dict[str, Any]], Any] | None = None
    """Asks about it where nobody knows what became of it; `None` where nobody can be asked."""

    def override(self, *, tool_call: ToolCall) -> CallToRun:
        """The request with another call."""
        return replace(self, tool_call=tool_call)


def read_tools(tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]) -> list[BaseTool | dict[str, Any]]:
    """The tools of an agent, functions made into tools.

    Raises:
        ConfigurationError: If two have one name, or one takes what only LangGraph fills in.
    """
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise ConfigurationError(f"tools is {tools!r}; it must be a list")
    read: list[BaseTool | dict[str, Any]] = []
    names: set[str] = set()
    for given in tools:
        if isinstance(given, dict):
            read.append(given)
            continue
        if not isinstance(given, BaseTool) and not callable(given):
            raise ConfigurationError(f"tools holds {given!r}, which is neither a tool nor a function")
        tool = given if isinstance(given, BaseTool) else make_tool(given)
        if tool.name in names:
            raise ConfigurationError(f"two tools are named {tool.name!r}; rename one")
        if filled := sorted(names_for_langgraph(tool)):
            raise ConfigurationError(
                f"tool {tool.name!r} takes {', '.join(map(repr, filled))}, which only LangGraph fills in; a GatedAgent "
                "runs without it: take a RunnableConfig instead, or use ToolGateMiddleware or ToolGate.graph"
            )
        names.add(tool.name)
        read.append(tool)
    return read


class AgentLastStep(LastStep):
    """The last step of a `GatedAgent`: what a tool gives becomes one tool message, in its place.

    Args:
        runs: The agent's runs.
        retry: How often a repeatable call is tried again.
        with_agents: The names of the tools that start agents, whose calls are never tried again.
    """

    def __init__(self, runs: Runs, retry: Retry, with_agents: frozenset[str] = frozenset()) -> None:
        super().__init__(runs)
        self._retry, self._with_agents = retry, with_agents

    def run_tool(self, request: CallToRun) -> Any:
        """Run the tool of a call that was let through."""
        tool, call = request.tool, request.tool_call
        assert tool is not None
        if not self._may_be_tried_again(tool):
            return tool.invoke(_marked(call), request.runtime.config)
        return self._retry.unless(_had_agents).call(lambda: tool.invoke(_marked(call), request.runtime.config))

    async def arun_tool(self, request: CallToRun) -> Any:
        """As `run_tool`, for asynchronous runs."""
        tool, call = request.tool, request.tool_call
        assert tool is not None
        if not self._may_be_tried_again(tool):
            return await tool.ainvoke(_marked(call), request.runtime.config)
        return await self._retry.unless(_had_agents).acall(lambda: tool.ainvoke(_marked(call), request.runtime.config))

    def _may_be_tried_again(self, tool: BaseTool) -> bool:
        entry = self._runs.meet(tool)
        if tool.name in self._with_agents:
            return False
        return entry.repeatable and entry.effective_tier is not Tier.CONSEQUENTIAL

    def _attempt(self, request: CallRequest) -> Attempt:
        attempt = super()._attempt(request)
        attempt.starts_agents = attempt.call["name"] in self._with_agents
        attempt.ask = getattr(request, "ask", None)
        return attempt

    def _question(self, attempt: Attempt) -> Question | None:
        """How a person is asked where a call would run: the session waits, as for any request."""
        # The answer was claimed when the session was resumed with it.
        return None if attempt.ask is None else Question(attempt.ask, (OutcomeWaits,), AtOnce())

    def _around(self, attempt: Attempt, request: CallRequest) -> ParentRun:
        around = super()._around(attempt, request)
        around.children = getattr(request, "children", None)
        return around

    def _left(self, attempt: Attempt, error: BaseException) -> Steps[tuple[GrantStatus, ToolMessage | None]]:
        """How a call ended that raised.

        Arguments that the tool itself finds fault with go back to the model. A pause of LangGraph inside of
        the tool, or a command that wants to leave it, ends the call: there is nothing here that could go on.
        """
        if isinstance(error, InnerPause | AlreadyAnsweredError):
            # The second where another worker may still be at a call inside: this one goes on when that is over.
            return GrantStatus.PAUSED, None
        if isinstance(error, ValidationError):
            text = f"Error: {attempt.call['name']!r} did not take its arguments: {error}"
            return GrantStatus.FAILED, _error(attempt.call, text)
        if _leaves_a_graph(error):
            reason = f"the tool wanted to pause, and a GatedAgent cannot let it go on later: {error}"
            refused = yield from refuse(self._gate, again(attempt), denied(Code.UNATTENDED, reason))
            return GrantStatus.FAILED, stopped(refused)
        return GrantStatus.FAILED, None

    def _finished(self, attempt: Attempt, result: Any) -> ToolMessage:
        """The one tool message of a call."""
        call = attempt.call
        if not isinstance(result, ToolMessage):
            kind = type(result).__name__
            logger.error("tool %r returned %s, which only LangGraph can carry out; it is dropped", call["name"], kind)
            text = f"The tool ran, but its result was dropped: it returned {kind}, which cannot be carried out here."
            return _error(call, text)
        if result.tool_call_id != call["id"]:
            result = result.model_copy(update={"tool_call_id": str(call["id"])})
        told: ToolMessage = with_notice(result, attempt.record)
        return told


def _had_agents() -> bool:
    """Whether an agent was started inside of the call that runs now, seen in what it holds or not."""
    around = current_run.get()
    return around is not None and around.had_agents


def _marked(call: ToolCall) -> dict[str, Any]:
    """A call that a tool takes for one. Without the mark it would take the call itself for its arguments."""
    return {**call, "type": "tool_call"}


def _leaves_a_graph(error: BaseException) -> bool:
    """Whether an error is LangGraph's way to pause or to leave a node; told by its name, as it may not be installed."""
    return any(
        kind.__name__ == "GraphBubbleUp" and kind.__module__ == "langgraph.errors" for kind in type(error).__mro__
    )


def _error(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=str(call["id"]), status="error")
