"""The last step before a tool runs. It checks once more, claims the grant, and never asks.

Whatever other code, a jump past the question, a cached reply or a forged message did before, this is
the only way into a tool. It is the same for every host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import ToolMessage

from toolgate_langchain.approvals.ledger import GrantStatus
from toolgate_langchain.approvals.same_ledger import check_ledger
from toolgate_langchain.approvals.turn import TurnRecord, raw_digest
from toolgate_langchain.canonical import copy_plain
from toolgate_langchain.errors import AlreadyAnsweredError
from toolgate_langchain.hosts.engine.attempt import Attempt, CallRequest, message_id
from toolgate_langchain.hosts.engine.calls import result_after
from toolgate_langchain.hosts.engine.changed import remember_change
from toolgate_langchain.hosts.engine.claiming import claim
from toolgate_langchain.hosts.engine.cut_off import UNKNOWN, cut_off, is_over
from toolgate_langchain.hosts.engine.last_look import LastLook, denied
from toolgate_langchain.hosts.engine.parent_run import ParentRun, note_lost
from toolgate_langchain.hosts.engine.recording import entry_of_end
from toolgate_langchain.hosts.engine.refusal import rejection, response, with_notice
from toolgate_langchain.hosts.engine.run_state import RULES, TURN
from toolgate_langchain.hosts.engine.running_here import check_awaited, would_wait
from toolgate_langchain.hosts.engine.telling import refuse, tell
from toolgate_langchain.policy.decide import ProposedCall
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.base_runs import Runs
    from toolgate_langchain.hosts.engine.outcomes import Question

__all__ = ["LastStep"]

_R = TypeVar("_R", bound=CallRequest)


class LastStep:
    """Checks calls for the last time, for one agent.

    Args:
        runs: The agent's runs.
    """

    leaving: type[AlreadyAnsweredError] = AlreadyAnsweredError
    """The error with which a call is left to the worker that is at it."""

    def __init__(self, runs: Runs) -> None:
        self._runs, self._gate, self._look = runs, runs.gate, LastLook(runs)

    def tool_steps(self, request: _R, handler: Callable[[_R], Any]) -> Steps[Any]:
        """Let one call run, or give its refusal.

        Args:
            request: The call with its tool.
            handler: Runs the tool.
        """
        # Who sends an agent back to its tools must neither run what has run nor get a second result for it.
        if (there := result_after(request.state["messages"], str(request.tool_call["id"]))) is not None:
            return there
        attempt = self._attempt(request)
        record = attempt.record
        if attempt.turn is not None:
            yield from check_ledger(self._gate.ledger, attempt.turn)
        if record is not None and record.raw == raw_digest(attempt.call):
            if record.outcome in ("rejected", "responded"):
                yield from tell(
                    self._gate,
                    attempt,
                    Decision(Verdict.DENY, record.code, record.reason, Layer.STANDING_DENIES),
                )
                if record.outcome == "responded" and self._runs.flow.on:
                    yield from self._runs.flow.note_response(attempt.run, response(record))
                return rejection(record) if record.outcome == "rejected" else response(record)
            if record.outcome == "refused":
                said = Decision(Verdict.DENY, record.code, record.reason, _layer(record.layer))
                return (yield from refuse(self._gate, attempt, said))
        resolving = self._gate.rulebook.resolving
        proposed = ProposedCall.of(attempt.call["name"], attempt.arguments, attempt.entry, resolving)
        decision = None
        if record is None and proposed.arguments is not None and not request.state.get(RULES):
            decision = self._look.foregone(attempt)
        if decision is None:
            decision = yield from self._look.decide(attempt, proposed, request.state)
        if decision.verdict is Verdict.ALLOW:
            check_awaited(request.tool, handler)
            if why := would_wait(request.tool, attempt.run.context.surface):
                decision = denied(Code.UNATTENDED, why)
        if decision.verdict is Verdict.ALLOW and not attempt.repeatable:
            claimed = yield from claim(
                self._gate, attempt, proposed, decision, question=self._question, leaving=self.leaving
            )
            if isinstance(claimed, ToolMessage):
                return claimed
            decision = claimed
        if decision.verdict is not Verdict.ALLOW:
            yield from remember_change(self._gate, attempt, decision)
            if record is not None and record.outcome == "rejected":
                yield from tell(self._gate, attempt, decision)
                return rejection(record)
            return (yield from refuse(self._gate, attempt, decision))
        assert proposed.arguments is not None
        values = proposed.arguments.values
        if record is not None and record.outcome == "edited":
            record.arguments = values  # the notice tells what runs, with everything that validation filled in
        yield from tell(self._gate, attempt, decision, values)
        if not proposed.arguments.flat:
            # A copy: the tool's own validators must not change the call that was judged.
            request = request.override(tool_call={**attempt.call, "args": copy_plain(values)})
        elif values is not attempt.call["args"]:
            request = request.override(tool_call={**attempt.call, "args": values})
        return (yield from self._start(attempt, request, handler))

    def _attempt(self, request: CallRequest) -> Attempt:
        call, state, tool = request.tool_call, request.state, request.tool
        run = self._runs.run_of(state, request.runtime)
        turn = record = None
        if saved := state.get(TURN):
            turn = TurnRecord.from_json(saved, only=str(call["id"]))
            if turn is not None and turn.message_id != message_id(state):
                turn = None
            record = None if turn is None else turn.call(call["id"])
        # A tool that another middleware put under this name is not the tool that was judged.
        entry = None if tool is None or tool.name != call["name"] else self._runs.meet(tool)
        return Attempt(call, run, state, turn, record, entry)

    # --- running ------------------------------------------------------------------------------

    def _start(self, attempt: Attempt, request: _R, handler: Callable[[_R], Any]) -> Steps[Any]:
        """Run the tool; an agent inside it shares the run."""
        try:
            with self._around(attempt, request):
                result = yield lambda: handler(request)
        except BaseException as error:
            if cut_off(error):
                yield from self._let_go(attempt, request.tool, error)
                raise
            status, ended = yield from self._left(attempt, error)
            lost = yield from self._end(attempt, status, ended, error)
            if lost is not None and isinstance(error, Exception):
                raise lost from error
            if ended is None:
                raise
            return self._finished(attempt, ended)
        finished = self._finished(attempt, result)
        if self._runs.flow.on:
            finished = yield from self._runs.flow.label(attempt, finished)
        if not attempt.repeatable or attempt.written:
            lost = yield from self._end(attempt, GrantStatus.FINISHED, result, kept=finished)
            if lost is not None:
                raise lost
        return finished

    def _let_go(self, attempt: Attempt, tool: BaseTool | None, error: BaseException) -> Steps[None]:
        """Leave a call that was cut off as one of which nobody knows what became, so that a person is asked."""
        if isinstance(error, GeneratorExit) or not is_over(tool, error):
            return  # nobody waits for anything here any more; or the tool goes on, so that its lease is waited for
        started = attempt.started
        if started is None or attempt.repeatable:
            yield from self._end(attempt, GrantStatus.FAILED, error=error)
            return
        entry = entry_of_end(self._gate, attempt, UNKNOWN, None, error)
        yield lambda: self._gate.ledger.let_go(started, entry)

    def _around(self, attempt: Attempt, request: CallRequest) -> ParentRun:
        """What the agents inside of a call share with it."""
        call = request.tool_call
        return ParentRun(self._gate, attempt.run, attempt.call["name"], request.runtime, arguments=call["args"])

    def _left(self, attempt: Attempt, error: BaseException) -> Steps[tuple[GrantStatus, ToolMessage | None]]:
        """How a call ended that raised, and its result; without one it goes on raising."""
        yield from ()
        return GrantStatus.FAILED, None

    def _finished(self, attempt: Attempt, result: Any) -> Any:
        """The result of a call as it goes to the model."""
        return with_notice(result, attempt.record)

    def _question(self, attempt: Attempt) -> Question | None:
        """How a person is asked where a call would run; `None` where that cannot be."""
        return None

    def _end(
        self,
        attempt: Attempt,
        status: GrantStatus,
        result: Any = None,
        error: BaseException | None = None,
        kept: Any = None,
    ) -> Steps[AlreadyAnsweredError | None]:
        """Record how a call ended that used up a grant, or whose start was written, and what came out of it.

        What it gave is kept until its turn is over, for a worker that has to finish the turn in this one's place.

        Returns:
            What to leave with where the call was taken from this worker meanwhile, because it looked dead: its result
            is in the record, and in no history.
        """
        entry, started = entry_of_end(self._gate, attempt, status.value, result, error), attempt.started
        if attempt.repeatable or started is None:
            if entry is not None and (ledger := self._gate.recorder.ledger) is not None:
                yield lambda: ledger.note([entry])
            return None
        message = kept if isinstance(kept, ToolMessage) else None
        scope = "" if message is None else self._runs.keep_results(attempt.run)
        call = started.ended(status, result=message, scope=scope, entry=entry)
        if (yield lambda: self._gate.ledger.end(call)) is True:
            return None
        why = (
            f"the call of {attempt.call['name']!r} took longer than its lease, and another worker went on without it; "
            "what it gave is in the record, and nothing was saved here"
        )
        return note_lost(self.leaving(why))


def _layer(name: str) -> Layer:
    return next((layer for layer in Layer if layer.value == name), Layer.SURFACE)
