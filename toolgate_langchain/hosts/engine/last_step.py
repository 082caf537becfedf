"""The last step before a tool runs. It checks once more, claims the grant, and never asks.

Whatever other code, a jump past the question, a cached reply or a forged message did before, this is
the only way into a tool. It is the same for every host.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.messages import ToolMessage

from toolgate_langchain.approvals.answer import ApprovalAnswer
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.binding import call_digest
from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.same_ledger import check_ledger
from toolgate_langchain.approvals.turn import TurnRecord, raw_digest
from toolgate_langchain.canonical import canonical_json, copy_plain
from toolgate_langchain.errors import AlreadyAnsweredError, NotPlainJsonError
from toolgate_langchain.hosts.engine.answering import barred
from toolgate_langchain.hosts.engine.attempt import Attempt, CallRequest, message_id
from toolgate_langchain.hosts.engine.calls import result_after
from toolgate_langchain.hosts.engine.outcomes import TRY_AGAIN, Question, started_before
from toolgate_langchain.hosts.engine.parent_run import ParentRun
from toolgate_langchain.hosts.engine.previewing import preview_changed
from toolgate_langchain.hosts.engine.recording import entry_of, entry_of_end, with_predicate
from toolgate_langchain.hosts.engine.refusal import rejection, response, with_notice
from toolgate_langchain.hosts.engine.run_state import RULES, TURN
from toolgate_langchain.hosts.engine.running_here import check_awaited, would_wait
from toolgate_langchain.hosts.engine.telling import refuse, tell
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, call_key, decide
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.policy.resolving import names_elsewhere
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.base_runs import Runs

__all__ = ["LastStep", "denied"]

_CODES_OF_START: Final = {
    StartStatus.USED: Code.OUTCOME_UNKNOWN,
    StartStatus.MISSING: Code.NOT_ON_RECORD,
    StartStatus.WITHDRAWN: Code.WITHDRAWN,
    StartStatus.MISMATCH: Code.CHANGED,
}

_NO_FACTS: Final = CallFacts()

_R = TypeVar("_R", bound=CallRequest)


class LastStep:
    """Checks calls for the last time, for one agent.

    Args:
        runs: The agent's runs.
    """

    leaving: type[AlreadyAnsweredError] = AlreadyAnsweredError
    """The error with which a call is left to the worker that is at it."""

    def __init__(self, runs: Runs) -> None:
        self._runs, self._gate = runs, runs.gate

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
            decision = self._foregone(attempt)
        if decision is None:
            decision = yield from self._decide(attempt, proposed, request.state)
        if decision.verdict is Verdict.ALLOW:
            check_awaited(request.tool, handler)
            if why := would_wait(request.tool, attempt.run.context.surface):
                decision = denied(Code.UNATTENDED, why)
        if decision.verdict is Verdict.ALLOW and not attempt.repeatable:
            claimed = yield from self._claim(attempt, proposed, decision)
            if isinstance(claimed, ToolMessage):
                return claimed
            decision = claimed
        if decision.verdict is not Verdict.ALLOW:
            yield from self._remember_change(attempt, decision)
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

    # --- the last check -----------------------------------------------------------------------

    def _foregone(self, attempt: Attempt) -> Decision | None:
        """The decision that is the same for every call of the tool, while nothing was said; else `None`."""
        run, entry = attempt.run, attempt.entry
        assert entry is not None
        released = self._runs.foregone.released(entry, run.context)
        quiet = released is not None and self._gate.ledger.quiet(run.id, run.place, run.context.caller_id) is True
        if released is not None and quiet and self._gate.recorder.on:
            proposed = ProposedCall.of(attempt.call["name"], attempt.arguments, entry)
            attempt.question = self._gate.recorder.ask(proposed, run.context, NO_RULES, RunMemory(), _NO_FACTS)
        return released if quiet else None

    def _decide(self, attempt: Attempt, proposed: ProposedCall, state: Mapping[str, Any]) -> Steps[Decision]:
        """Judge the call once more, with the saved outcomes and today's rules, policies and configuration."""
        run, record, entry = attempt.run, attempt.record, attempt.entry
        if record is not None and record.raw != raw_digest(attempt.call):
            return denied(Code.CHANGED, "the call is not the one that was judged")
        if record is not None and record.outcome == "":
            return denied(record.code, "it waits for a person and was not asked about")
        if self._names_elsewhere(attempt):
            return denied(Code.CHANGED, "what its arguments name is not what they named when it was judged")
        index, said = yield from self._runs.look(state, run)
        facts = _NO_FACTS if record is None else self._gate.judge.still_known(record.facts)
        if said.stopped is not False:
            facts = replace(facts, stopped=True)
        if self._runs.flow.on:
            facts = replace(facts, history=(yield from self._runs.flow.again(attempt)))
        person = attempt.approved
        if person and (told := (yield from self._not_entitled(attempt))):
            return denied(Code.WITHDRAWN, told)
        # What a person just approved is not held against what was rejected beside it.
        known = RunMemory() if person else said.memory
        rules = self._gate.judge.view(index, run)
        if not self._gate.recorder.on:
            decision = decide(proposed, run.context, self._gate.rulebook, rules, known, facts)
        else:
            facts = with_predicate(facts, proposed)
            attempt.question = self._gate.recorder.ask(proposed, run.context, rules, known, facts)
            decision = attempt.question.said
        if decision.verdict is Verdict.DENY:
            return decision
        assert entry is not None
        if decision.verdict is Verdict.ASK and not person:
            return denied(
                Code.CHANGED,
                f"it needs a person now and was not asked about: {decision.reason}",
            )
        if person:
            # Also where the answer itself made a rule that matches by now: the person decided, not the rule.
            assert record is not None
            decision = replace(decision, verdict=Verdict.ALLOW, code=record.code, reason=record.reason)
        # Also of a call that the answer to one beside it released: it is held to what was told when it was judged.
        preview = None if record is None else record.preview
        if preview is not None and (yield from preview_changed(self._gate, attempt, proposed)):
            return denied(Code.CHANGED, "what it would do is not what was told when it was judged")
        return self._gate.judge.if_unattended(entry, decision, run)

    def _names_elsewhere(self, attempt: Attempt) -> bool:
        """Whether the model's words, judged before, name something else by now; only where a policy resolves names."""
        record, entry, resolving = attempt.record, attempt.entry, self._gate.rulebook.resolving
        if record is None or entry is None or not resolving:
            return False
        # What a person wrote in its place was resolved when it was answered.
        if record.outcome not in ("approved", "released") or record.input_schema is not None:
            return False
        return names_elsewhere(entry, attempt.call["args"], attempt.arguments, resolving)

    def _not_entitled(self, attempt: Attempt) -> Steps[str]:
        """Why the approval of a call holds no more, where the operator's rule says who may answer: by today's rule."""
        record = attempt.record
        if self._gate.judge.approvers is None or record is None:
            return ""
        given = ApprovalAnswer(request_id=record.request_id, type="approve", by=record.by)
        return (yield from barred(self._gate, given))

    def _claim(self, attempt: Attempt, proposed: ProposedCall, decision: Decision) -> Steps[Decision | ToolMessage]:
        """Use the grant up, by compare-and-set, where the call may not be repeated or was asked about."""
        entry, record, run = attempt.entry, attempt.record, attempt.run
        assert entry is not None and proposed.arguments is not None
        turn_id = "" if attempt.turn is None else attempt.turn.turn_id
        bound = call_digest(run, entry, proposed.arguments.values, turn_id, str(attempt.call["id"]))
        if record is not None and bound != record.digest:
            # Edited in a process that had not met the tool: bound to what the person wrote, before validation.
            written = call_digest(run, entry, attempt.arguments, turn_id, str(attempt.call["id"]))
            if record.outcome != "edited" or written != record.digest:
                return denied(
                    Code.CHANGED,
                    "the tool, its arguments or where it runs changed after it was judged",
                )
            bound = written
        key = attempt.key
        call = attempt.started = CallStart(
            key,
            bound,
            needs_grant=attempt.approved,
            repeatable=entry.repeatable and not attempt.starts_agents,
            hold=True,
            entry=entry_of(self._gate, attempt, decision, proposed.arguments.values, bound),
        )
        start: StartStatus = yield lambda: self._gate.ledger.start(call)
        if start is StartStatus.USED:
            values, question = proposed.arguments.values, self._question(attempt)
            known = yield from started_before(self._gate, attempt, call, values, question, self.leaving)
            if known == TRY_AGAIN:
                return decision
            if isinstance(known, ToolMessage):
                said = Decision(Verdict.DENY, Code.OUTCOME_KNOWN, "it was started before", Layer.IDENTITY)
                yield from tell(self._gate, attempt, said)
                return known
        if start in (StartStatus.STARTED, StartStatus.REENTERED):
            attempt.written, attempt.reentered = call.entry is not None, start is StartStatus.REENTERED
            return decision
        if start is StartStatus.WITHDRAWN and record is not None:
            held: ApprovalAnswer | None = yield lambda: self._gate.ledger.answer_to(key)
            if held is not None and held.type == "reject":
                # Taken back after the turn was settled: it counts as any other rejection.
                same = call_key(entry, proposed.arguments.values)
                yield lambda: self._gate.ledger.note_rejected(run.id, same, entry.name, key)
                record.outcome, record.message, record.by = "rejected", held.message, held.by
                record.code, record.reason = Code.REJECTED, "a person took the approval back"
                return denied(record.code, record.reason)
        return denied(_CODES_OF_START[start], f"its grant is {start.value}")

    # --- running ------------------------------------------------------------------------------

    def _start(self, attempt: Attempt, request: _R, handler: Callable[[_R], Any]) -> Steps[Any]:
        """Run the tool; an agent inside it shares the run."""
        try:
            with self._around(attempt, request):
                result = yield lambda: handler(request)
        except BaseException as error:
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
        entry, started = entry_of_end(self._gate, attempt, status, result, error), attempt.started
        if attempt.repeatable or started is None:
            if entry is not None and (ledger := self._gate.recorder.ledger) is not None:
                yield lambda: ledger.note([entry])
            return None
        message = kept if isinstance(kept, ToolMessage) else None
        scope = "" if message is None else self._runs.keep_results(attempt.run)
        call = started.ended(status, result=message, scope=scope, entry=entry)
        if (yield lambda: self._gate.ledger.end(call)) is True:
            return None
        return self.leaving(
            f"the call of {attempt.call['name']!r} took longer than its lease, and another worker went on without it; "
            "what it gave is in the record, and nothing was saved here"
        )

    def _remember_change(self, attempt: Attempt, decision: Decision) -> Steps[None]:
        """Keep both versions of a call that was refused as changed, to be shown when it is asked about again."""
        if decision.code != Code.CHANGED:
            return
        record, name = attempt.record, attempt.call["name"]
        # Where the call is as it was judged, the arguments that were saved with it are what would have run.
        same = record is not None and record.raw == raw_digest(attempt.call)
        about_to_run = _readable(attempt.arguments if same else attempt.call["args"])
        judged = "" if record is None or not record.shown else f", and it had been judged with {record.shown}"
        text = f"a call of it was refused as changed: it was about to run with {about_to_run}{judged}"
        text = text if not attempt.change else f"a call of it was refused: {attempt.change}"
        yield lambda: self._gate.ledger.note_change(attempt.run.id, name, text)


def denied(code: str, reason: str) -> Decision:
    """The decision of a call that the last step refuses."""
    return Decision(Verdict.DENY, code, reason, Layer.IDENTITY)


def _layer(name: str) -> Layer:
    return next((layer for layer in Layer if layer.value == name), Layer.SURFACE)


def _readable(arguments: Any) -> str:
    try:
        text = canonical_json(arguments)
    except NotPlainJsonError:
        return "arguments that cannot be written as JSON"
    return text if len(text) <= 2_000 else f"{text[:2_000]}..."
