"""The last step in LangGraph's tool node: calls that run at once, and tools that leave the node.

What is checked, claimed and recorded stands in `last_step`, where every host shares it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.types import interrupt

from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.hosts.engine.last_look import denied
from toolgate_langchain.hosts.engine.last_step import LastStep
from toolgate_langchain.hosts.engine.outcomes import Question
from toolgate_langchain.hosts.engine.parent_run import ParentRun, current_run
from toolgate_langchain.hosts.engine.plain_calls import AtOnce
from toolgate_langchain.hosts.engine.recording import again
from toolgate_langchain.hosts.engine.refusal import stopped
from toolgate_langchain.hosts.engine.run_state import RULES, TURN
from toolgate_langchain.hosts.engine.telling import refuse
from toolgate_langchain.hosts.langgraph.carrying import Carrier, keep_answers_from_tools
from toolgate_langchain.hosts.langgraph.pauses import LeavesNothing
from toolgate_langchain.hosts.langgraph.results import channels_written, dropped, finished
from toolgate_langchain.policy.decision import Code

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import ToolMessage

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.attempt import Attempt
    from toolgate_langchain.hosts.engine.base_runs import Runs

__all__ = ["Enforcement"]


class Enforcement(LastStep):
    """Checks calls for the last time, for one agent.

    Args:
        runs: The agent's runs.
    """

    leaving = LeavesNothing

    def __init__(self, runs: Runs) -> None:
        super().__init__(runs)
        self._at_once = AtOnce(runs)

    def at_once(self, request: ToolCallRequest) -> tuple[ToolCallRequest, ParentRun] | None:
        """The request of a call that runs as it is, without a question, a grant or anything to record.

        Most calls are such: of a tool that may run here whatever its arguments are, with arguments
        that validation cannot change, in a thread where nothing was said yet. For all others `None`.
        """
        state, call, tool, around = request.state, request.tool_call, request.tool, current_run.get()
        if around is not None:
            keep_answers_from_tools()
        if state.get(TURN) or state.get(RULES) or self._gate.on_decision is not None:
            return None
        last = state["messages"][-1] if state["messages"] else None
        if tool is None or tool.name != call["name"] or not isinstance(last, AIMessage):
            return None
        run, args = self._runs.run_of(state, request.runtime), call["args"]
        arguments = self._at_once.arguments_of(tool, run, around)
        values = None if arguments is None else arguments.flat(args)
        if values is None or self._gate.ledger.quiet(run.id, run.place, run.context.caller_id) is not True:
            return None
        if values is not args:
            request = request.override(tool_call={**call, "args": values})
        return request, ParentRun(self._gate, run, tool.name, request.runtime)

    def after_leaving(self, request: ToolCallRequest, leaving: GraphBubbleUp) -> Steps[ToolMessage]:
        """What becomes of a call that ran at once and wants to leave the tool node.

        Raises:
            GraphBubbleUp: What was given, where it may leave.
        """
        ended = yield from self._instead_of_leaving(self._attempt(request), leaving)
        if ended is None:
            raise leaving
        return ended

    def _left(self, attempt: Attempt, error: BaseException) -> Steps[tuple[GrantStatus, ToolMessage | None]]:
        """How a call ended that raised, where it may be on its way out of the tool node."""
        if not isinstance(error, GraphBubbleUp):
            return GrantStatus.FAILED, None
        if isinstance(error, LeavesNothing):
            # An agent inside: its answer is carried elsewhere, and so is this call.
            return GrantStatus.PAUSED, None
        ended = yield from self._instead_of_leaving(attempt, error)
        if isinstance(error, GraphInterrupt):
            return (GrantStatus.PAUSED if ended is None else GrantStatus.FAILED), ended
        return GrantStatus.FINISHED, ended

    def _question(self, attempt: Attempt) -> Question | None:
        """How a person is asked where a call would run: as a tool of its own would."""
        carrier = Carrier(self._gate.ledger)
        return Question(carrier.asking(_interrupt), (GraphInterrupt,), carrier)

    def _finished(self, attempt: Attempt, result: Any) -> Any:
        """The result of a call as it goes into the state."""
        return finished(attempt.call, attempt.record, result)

    def _instead_of_leaving(self, attempt: Attempt, leaving: GraphBubbleUp) -> Steps[ToolMessage | None]:
        """The result where a tool pauses and nobody is there, or would write the gate's state; `None` lets it leave."""
        surface = attempt.run.context.surface
        if isinstance(leaving, GraphInterrupt):
            if surface.attended:
                if (around := current_run.get()) is not None:
                    around.note_pause(leaving)
                return None
            reason = f"the tool wanted to pause, and nobody is there on surface {surface.name!r}: {leaving}"
            return stopped((yield from refuse(self._gate, again(attempt), denied(Code.UNATTENDED, reason))))
        if isinstance(leaving, ParentCommand) and (written := channels_written(leaving.args[0])):
            return dropped(attempt.call, written)
        return None


def _interrupt(shown: dict[str, Any]) -> Any:
    """Show a request and wait for its answer; the tool that the agent runs in, if any, knows of the pause."""
    try:
        return interrupt(shown)
    except GraphInterrupt as pause:
        if (around := current_run.get()) is not None:
            around.note_pause(pause)
        raise
