"""The last step before a tool runs. It checks once more, claims the grant, and never asks.

Whatever other middleware, a jump past the question, a cached reply or a forged message did before,
this is the only way into a tool.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand

from toolgate_langchain.approvals.judge import call_digest
from toolgate_langchain.approvals.ledger import GrantStatus, StartStatus
from toolgate_langchain.approvals.turn import CallRecord, Run, TurnRecord, raw_digest, unasked_key
from toolgate_langchain.canonical import canonical_json, copy_plain
from toolgate_langchain.errors import InvalidArgumentsError, NotPlainJsonError
from toolgate_langchain.hosts.calls import last_ai_message
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.hosts.refusal import refusal, refused, rejection, response
from toolgate_langchain.hosts.results import channels_written, dropped, finished
from toolgate_langchain.hosts.run_state import RULES, TURN, ParentRun, current_run
from toolgate_langchain.policy.context import CallFacts, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, call_key, decide
from toolgate_langchain.policy.decision import Code, Decision, Layer
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.messages import ToolCall, ToolMessage

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.hosts.runs import AgentRuns

__all__ = ["Enforcement"]

logger = logging.getLogger("toolgate_langchain")

_CODES_OF_START: Final = {
    StartStatus.USED: Code.OUTCOME_UNKNOWN,
    StartStatus.MISSING: Code.NOT_ON_RECORD,
    StartStatus.WITHDRAWN: Code.WITHDRAWN,
    StartStatus.MISMATCH: Code.CHANGED,
}

_NO_FACTS: Final = CallFacts()

_PERSON: Final = "person"
"""The layer that is shown where a person's answer decided."""


@dataclass(slots=True)
class _Attempt:
    """One call at the last step."""

    call: ToolCall
    run: Run
    state: Mapping[str, Any]
    turn: TurnRecord | None
    record: CallRecord | None
    entry: CatalogEntry | None

    @property
    def approved(self) -> bool:
        """Whether a person's approval or edit lets it run."""
        return self.record is not None and self.record.person_released

    @property
    def repeatable(self) -> bool:
        """Whether it uses up no grant: running it again does no harm, and nobody was asked."""
        return self.entry is not None and self.entry.repeatable and not self.approved


class Enforcement:
    """Checks calls for the last time, for one agent.

    Args:
        runs: The agent's runs.
    """

    def __init__(self, runs: AgentRuns) -> None:
        self._runs, self._gate = runs, runs.gate

    def at_once(self, request: ToolCallRequest) -> tuple[ToolCallRequest, ParentRun] | None:
        """The request of a call that runs as it is, without a question, a grant or anything to record.

        Most calls are such: of a tool that may run here whatever its arguments are, with arguments
        that validation cannot change, in a thread where nothing was said yet. For all others `None`.
        """
        state, call, tool = request.state, request.tool_call, request.tool
        if state.get(TURN) or state.get(RULES) or self._gate.on_decision is not None:
            return None
        if tool is None or tool.name != call["name"]:
            return None
        run, entry, args = self._runs.run_of(state, request.runtime), self._runs.meet(tool), call["args"]
        if not entry.repeatable or self._runs.foregone.released(entry, run.context) is None:
            return None
        try:
            values = None if entry.arguments is None else entry.arguments.flat(args)
        except InvalidArgumentsError:  # the tool's own schema is not one; the long way says so
            return None
        if values is None or self._gate.ledger.quiet(run.id, run.thread_id) is not True:
            return None
        if values is not args:
            request = request.override(tool_call={**call, "args": values})
        return request, ParentRun(run.id, (*run.agent_path, tool.name))

    def after_leaving(self, request: ToolCallRequest, leaving: GraphBubbleUp) -> ToolMessage:
        """What becomes of a call that ran at once and wants to leave the tool node.

        Raises:
            GraphBubbleUp: What was given, where it may leave.
        """
        ended = self._instead_of_leaving(self._attempt(request), leaving)
        if ended is None:
            raise leaving
        return ended

    def tool_steps(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Steps[Any]:
        """Let one call run, or give its refusal.

        Args:
            request: The call with its tool.
            handler: Runs the tool.
        """
        attempt = self._attempt(request)
        record = attempt.record
        if record is not None and record.raw == raw_digest(attempt.call):
            if record.outcome in ("rejected", "responded"):
                self._tell(
                    attempt,
                    Decision(Verdict.DENY, record.code, record.reason, Layer.STANDING_DENIES),
                )
                return rejection(record) if record.outcome == "rejected" else response(record)
            if record.outcome == "refused":
                return self._refuse(
                    attempt,
                    Decision(Verdict.DENY, record.code, record.reason, _layer(record.layer)),
                )
        proposed = ProposedCall.of(attempt.call["name"], _arguments(attempt), attempt.entry)
        decision = None
        if record is None and proposed.arguments is not None and not request.state.get(RULES):
            decision = self._foregone(attempt)
        if decision is None:
            decision = yield from self._decide(attempt, proposed, request.state)
        if decision.verdict is Verdict.ALLOW and not attempt.repeatable:
            decision = yield from self._claim(attempt, proposed, decision)
        if decision.verdict is not Verdict.ALLOW:
            yield from self._remember_change(attempt, decision)
            if record is not None and record.outcome == "rejected":
                self._tell(attempt, decision)
                return rejection(record)
            return self._refuse(attempt, decision)
        assert proposed.arguments is not None
        values = proposed.arguments.values
        if record is not None and record.outcome == "edited":
            record.arguments = values  # the notice tells what runs, with everything that validation filled in
        self._tell(attempt, decision, values)
        if not proposed.arguments.flat:
            # A copy: the tool's own validators must not change the call that was judged.
            request = request.override(tool_call={**attempt.call, "args": copy_plain(values)})
        elif values is not attempt.call["args"]:
            request = request.override(tool_call={**attempt.call, "args": values})
        result = yield from self._start(attempt, request, handler)
        return finished(attempt.call, attempt.record, result)

    def _attempt(self, request: ToolCallRequest) -> _Attempt:
        call, state, tool = request.tool_call, request.state, request.tool
        run = self._runs.run_of(state, request.runtime)
        turn = record = None
        if saved := state.get(TURN):
            turn = TurnRecord.from_json(saved, only=str(call["id"]))
            if turn is not None and turn.message_id != _message_id(state):
                turn = None
            record = None if turn is None else turn.call(call["id"])
        # A tool that another middleware put under this name is not the tool that was judged.
        entry = None if tool is None or tool.name != call["name"] else self._runs.meet(tool)
        return _Attempt(call, run, state, turn, record, entry)

    # --- the last check -----------------------------------------------------------------------

    def _foregone(self, attempt: _Attempt) -> Decision | None:
        """The decision that is the same for every call of the tool, while nothing was said; else `None`."""
        run, entry = attempt.run, attempt.entry
        assert entry is not None
        released = self._runs.foregone.released(entry, run.context)
        quiet = released is not None and self._gate.ledger.quiet(run.id, run.thread_id) is True
        return released if quiet else None

    def _decide(self, attempt: _Attempt, proposed: ProposedCall, state: Mapping[str, Any]) -> Steps[Decision]:
        """Judge the call once more, with the saved outcomes and today's rules, policies and configuration."""
        run, record, entry = attempt.run, attempt.record, attempt.entry
        if record is not None and record.raw != raw_digest(attempt.call):
            return _denied(Code.CHANGED, "the call is not the one that was judged")
        if record is not None and record.outcome == "":
            return _denied(record.code, "it waits for a person and was not asked about")
        index = yield from self._runs.index(state, run)
        memory: RunMemory = yield lambda: self._gate.ledger.memory(run.id)
        stopped = yield self._gate.ledger.stopped
        facts = _NO_FACTS if record is None else record.facts
        if stopped is not False:
            facts = replace(facts, stopped=True)
        person = attempt.approved
        # What a person just approved is not held against what was rejected beside it.
        known = RunMemory() if person else memory
        rules = self._gate.judge.view(index, run)
        decision = decide(proposed, run.context, self._gate.rulebook, rules, known, facts)
        if decision.verdict is Verdict.DENY:
            return decision
        assert entry is not None
        if decision.verdict is Verdict.ASK and not person:
            return _denied(
                Code.CHANGED,
                f"it needs a person now and was not asked about: {decision.reason}",
            )
        if person:
            # Also where the answer itself made a rule that matches by now: the person decided, not the rule.
            assert record is not None
            decision = replace(decision, verdict=Verdict.ALLOW, code=record.code, reason=record.reason)
        return self._gate.judge.if_unattended(entry, decision, run)

    def _claim(self, attempt: _Attempt, proposed: ProposedCall, decision: Decision) -> Steps[Decision]:
        """Use the grant up, by compare-and-set, where the call may not be repeated or was asked about."""
        entry, record, run = attempt.entry, attempt.record, attempt.run
        assert entry is not None and proposed.arguments is not None
        turn_id = "" if attempt.turn is None else attempt.turn.turn_id
        bound = call_digest(run, entry, proposed.arguments.values, turn_id, str(attempt.call["id"]))
        if record is not None and bound != record.digest:
            # Edited in a process that had not met the tool: bound to what the person wrote, before validation.
            written = call_digest(run, entry, _arguments(attempt), turn_id, str(attempt.call["id"]))
            if record.outcome != "edited" or written != record.digest:
                return _denied(
                    Code.CHANGED,
                    "the tool, its arguments or where it runs changed after it was judged",
                )
            bound = written
        key = self._key(attempt)
        start: StartStatus = yield lambda: self._gate.ledger.start(
            key, bound, needs_grant=attempt.approved, repeatable=entry.repeatable
        )
        if start in (StartStatus.STARTED, StartStatus.REENTERED):
            return decision
        if start is StartStatus.WITHDRAWN and record is not None:
            held: ApprovalAnswer | None = yield lambda: self._gate.ledger.answer_to(key)
            if held is not None and held.type == "reject":
                # Taken back after the turn was settled: it counts as any other rejection.
                same = call_key(entry, proposed.arguments.values)
                yield lambda: self._gate.ledger.note_rejected(run.id, same, entry.name, key)
                record.outcome, record.message, record.by = "rejected", held.message, held.by
                record.code, record.reason = Code.REJECTED, "a person took the approval back"
                return _denied(record.code, record.reason)
        return _denied(_CODES_OF_START[start], f"its grant is {start.value}")

    @staticmethod
    def _key(attempt: _Attempt) -> str:
        """The id under which a start is recorded: the request's, or one derived from the place of the call."""
        if attempt.record is not None:
            return attempt.record.request_id
        run = attempt.run
        return unasked_key(run.id, run.start, _message_id(attempt.state), str(attempt.call["id"]))

    # --- running ------------------------------------------------------------------------------

    def _start(
        self, attempt: _Attempt, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Steps[Any]:
        """Run the tool; an agent inside it shares the run."""
        run = attempt.run
        token = current_run.set(ParentRun(run.id, (*run.agent_path, attempt.call["name"])))
        try:
            result = yield lambda: handler(request)
        except GraphBubbleUp as leaving:
            ended = self._instead_of_leaving(attempt, leaving)
            if isinstance(leaving, GraphInterrupt):
                yield from self._end(attempt, GrantStatus.PAUSED if ended is None else GrantStatus.FAILED)
            else:
                yield from self._end(attempt, GrantStatus.FINISHED)
            if ended is None:
                raise
            return ended
        except BaseException:
            yield from self._end(attempt, GrantStatus.FAILED)
            raise
        finally:
            current_run.reset(token)
        if not attempt.repeatable:
            yield from self._end(attempt, GrantStatus.FINISHED)
        return result

    def _instead_of_leaving(self, attempt: _Attempt, leaving: GraphBubbleUp) -> ToolMessage | None:
        """The result where a tool pauses and nobody is there, or would write the gate's state; `None` lets it leave."""
        surface = attempt.run.context.surface
        if isinstance(leaving, GraphInterrupt):
            if surface.attended:
                return None
            reason = f"the tool wanted to pause, and nobody is there on surface {surface.name!r}: {leaving}"
            return self._refuse(attempt, _denied(Code.UNATTENDED, reason))
        if isinstance(leaving, ParentCommand) and (written := channels_written(leaving.args[0])):
            return dropped(attempt.call, written)
        return None

    def _end(self, attempt: _Attempt, status: GrantStatus) -> Steps[None]:
        """Record how a call ended that used up a grant."""
        if not attempt.repeatable:
            key = self._key(attempt)
            yield lambda: self._gate.ledger.end(key, status)

    # --- saying so ----------------------------------------------------------------------------

    def _refuse(self, attempt: _Attempt, decision: Decision) -> ToolMessage:
        call, run, record = attempt.call, attempt.run, attempt.record
        self._tell(attempt, decision)
        loud = logging.WARNING if not run.context.surface.attended else logging.INFO
        logger.log(
            loud,
            "refused %r on surface %r: %s (%s)",
            call["name"],
            run.context.surface.name,
            decision.code,
            decision.reason,
        )
        if record is not None and record.code == decision.code:
            return refused(record)
        # Derived from the place of the call, so that a replay cannot write two messages.
        message_id = f"toolgate-{self._key(attempt)}"
        return refusal(str(call["id"]), call["name"], decision.code, decision.reason, message_id=message_id)

    def _remember_change(self, attempt: _Attempt, decision: Decision) -> Steps[None]:
        """Keep both versions of a call that was refused as changed, to be shown when it is asked about again."""
        if decision.code != Code.CHANGED:
            return
        record, name = attempt.record, attempt.call["name"]
        # Where the call is as it was judged, the arguments that were saved with it are what would have run.
        same = record is not None and record.raw == raw_digest(attempt.call)
        about_to_run = _readable(_arguments(attempt) if same else attempt.call["args"])
        judged = "" if record is None or not record.shown else f", and it had been judged with {record.shown}"
        text = f"a call of it was refused as changed: it was about to run with {about_to_run}{judged}"
        yield lambda: self._gate.ledger.note_change(attempt.run.id, name, text)

    def _tell(self, attempt: _Attempt, decision: Decision, values: Mapping[str, Any] | None = None) -> None:
        observer = self._gate.on_decision
        if observer is None:
            return
        record = attempt.record
        by_person = record is not None and record.outcome in (
            "approved",
            "edited",
            "rejected",
            "responded",
        )
        outcome = CallOutcome(
            call_id=str(attempt.call["id"]),
            name=attempt.call["name"],
            # A copy: who listens must not change the call that runs.
            arguments=copy_plain(
                values if values is not None else (record and record.arguments) or attempt.call["args"]
            ),
            verdict=decision.verdict,
            code=decision.code,
            layer=_PERSON
            if by_person and record is not None and decision.code == record.code
            else decision.layer.value,
            reason=_with_words(decision, record),
            asked=by_person or (record is not None and record.code == Code.BAD_ANSWERS),
            by=None if record is None else record.by,
        )
        try:
            observer(outcome)
        except Exception:
            logger.exception("on_decision raised")


def _message_id(state: Mapping[str, Any]) -> str:
    """The id of the message that makes the calls."""
    message = last_ai_message(state["messages"])
    return "" if message is None else str(message.id)


def _arguments(attempt: _Attempt) -> Any:
    """The saved effective arguments where there are some, else the model's own."""
    record = attempt.record
    return attempt.call["args"] if record is None or record.arguments is None else record.arguments


def _with_words(decision: Decision, record: CallRecord | None) -> str:
    """The reason, with what the person said where it was a no."""
    if record is None or record.outcome != "rejected" or not record.message or decision.code != record.code:
        return decision.reason
    return f"{decision.reason}: {record.message}"


def _denied(code: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, code, reason, Layer.IDENTITY)


def _layer(name: str) -> Layer:
    return next((layer for layer in Layer if layer.value == name), Layer.SURFACE)


def _readable(arguments: Any) -> str:
    try:
        text = canonical_json(arguments)
    except NotPlainJsonError:
        return "arguments that cannot be written as JSON"
    return text if len(text) <= 2_000 else f"{text[:2_000]}..."
