"""A turn of the model, whatever host it is driven by: made readable, judged as a whole, asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.queue import ApprovalQueue
from toolgate_langchain.approvals.rules import MAX_RULES_IN_STATE, RuleIndex, StandingRule
from toolgate_langchain.hosts.engine.calls import with_fresh_ids, with_refused_invalid_calls, without_unstorable_calls
from toolgate_langchain.hosts.engine.plain_calls import UnaskedTools
from toolgate_langchain.hosts.engine.refusal import refused, rejection
from toolgate_langchain.hosts.engine.run_state import RULES, TURN, read_rules, write_rules
from toolgate_langchain.hosts.engine.unseen import tell_refused_early

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

    from toolgate_langchain.approvals.carrying import Carrying
    from toolgate_langchain.approvals.rule_ledger import Said
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import Run, TurnRecord
    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.hosts.engine.base_runs import Runs
    from toolgate_langchain.policy.history import History

__all__ = ["BaseTurns"]


class BaseTurns:
    """Judges and asks for one agent.

    Args:
        runs: The agent's runs.
    """

    derived_ids = False
    """Whether the ids of requests are derived, for hosts in which the step that judges can be replayed."""

    pauses: tuple[type[BaseException], ...] = ()
    """What the host raises where a question suspends the run."""

    def __init__(self, runs: Runs) -> None:
        self._runs, self._gate = runs, runs.gate
        self._foregone, self._unasked_tools = runs.foregone, UnaskedTools(runs)

    # --- reading ------------------------------------------------------------------------------

    def _readable_message(self, message: AIMessage, before: Sequence[BaseMessage]) -> list[BaseMessage]:
        """A turn's message with ids that can be told apart and calls that can be kept.

        Args:
            message: The model's message.
            before: The messages that are there already.

        Returns:
            The message, the same object where nothing had to be changed; behind it an error result for
            each call that cannot be read, where it makes others as well.
        """
        made = without_unstorable_calls(with_fresh_ids(message, self._gate.judge.new_id, before))
        return with_refused_invalid_calls(made) if made.tool_calls and made.invalid_tool_calls else [made]

    def _returns_directly(self, name: str) -> bool:
        entry = self._runs.find(name)
        return entry is not None and entry.tool is not None and entry.tool.return_direct

    def _refused_early(self, turn: TurnRecord, answered: Container[str]) -> list[ToolMessage]:
        """Refusals of calls whose tool ends the run with its result.

        Given where the tool runs, such a refusal would end the run and the model would never hear it.
        """
        return [
            rejection(call) if call.outcome == "rejected" else refused(call)
            for call in turn.calls
            if call.outcome in ("rejected", "refused")
            and call.call_id not in answered
            and self._returns_directly(call.name)
        ]

    def _entries(self, calls: Sequence[ToolCall]) -> list[CatalogEntry | None]:
        return [self._runs.find(call["name"]) for call in calls]

    def _nobody_is_asked(self, calls: Sequence[ToolCall], run: Run) -> bool:
        """Whether all calls are of known tools, and none could need a person or has to be refused early."""
        if self._unasked_tools.have_all(calls, run):
            return True
        entries = self._entries(calls)
        if None in entries or not self._judged_where_they_run(entries, run):
            return False
        self._unasked_tools.note(calls, run)
        return True

    # --- judging ------------------------------------------------------------------------------

    def _judged_where_they_run(self, entries: Sequence[CatalogEntry | None], run: Run) -> bool:
        """Whether no call of the tools could need a person or has to be refused early, whatever its arguments.

        Judging them now as well would leave nothing to ask and nothing to save. `None` is a tool that
        nobody knows, whose call is refused where it would run.
        """
        if self._gate.rulebook.argument_policies:
            return False
        for entry in entries:
            if entry is None:
                continue
            if entry.tool is not None and entry.tool.return_direct:
                return False
            if not self._foregone.unasked(entry, run.context):
                return False
        return True

    def _judge_calls(
        self,
        run: Run,
        message: AIMessage,
        calls: Sequence[ToolCall],
        state: Mapping[str, Any],
        messages: Sequence[BaseMessage],
    ) -> Steps[TurnRecord | None]:
        """Judge the calls of a turn together; `None` where nothing has to be saved of them."""
        index, said = yield from self._runs.rules.look(state, run)
        history = yield from self._history(run, state, message)
        turn: TurnRecord | None = yield from self._gate.judge.judge(
            run,
            str(message.id),
            calls,
            self._runs.find,
            index,
            messages=messages,
            state=state,
            derived=self.derived_ids,
            save=history is not None or any(self._returns_directly(call["name"]) for call in calls),
            said=said,
            history=history,
        )
        return turn

    def _history(self, run: Run, state: Mapping[str, Any], message: AIMessage) -> Steps[History | None]:
        """What was read before a turn; `None` where no policy asks for it."""
        flow = self._runs.flow
        return (yield from flow.before(run, state["messages"], message)) if flow.on else None

    # --- asking -------------------------------------------------------------------------------

    def _ask_all(
        self,
        run: Run,
        turn: TurnRecord,
        message: AIMessage,
        state: Mapping[str, Any],
        answered: Container[str],
        ask: Callable[[dict[str, Any]], Any],
        carrying: Carrying | None = None,
    ) -> Steps[dict[str, Any]]:
        """Ask about the calls of a turn that need a person, and say what to save of the answers.

        Args:
            run: The run.
            turn: The saved turn.
            message: The message that makes the calls.
            state: The agent's state.
            answered: The ids of calls that have their tool message already.
            ask: Shows one request and returns the raw answer; may suspend the run instead.
            carrying: Claims each answer before it is taken in, where several workers could have it.
        """
        find, mode = self._runs.find, self._gate.answers
        expiry = self._gate.request_expiry
        queue = ApprovalQueue(
            self._gate.judge, run, turn, message.tool_calls, find, mode, self.pauses, carrying, expiry
        )
        yield from queue.ask_all(ask)
        update: dict[str, Any] = {TURN: turn.to_json()}
        if refusals := self._refused_early(turn, answered):
            yield from tell_refused_early(self._gate, run, message, turn, refusals)
            update["messages"] = refusals
        if queue.new_rules:
            update.update((yield from self._new_rules(state, run, queue.new_rules)))
        return update

    def _new_rules(self, state: Mapping[str, Any], run: Run, new: Sequence[StandingRule]) -> Steps[dict[str, Any]]:
        """Take new rules into the state, as far as there is room; the ledger has them all already.

        Those of a subagent stay in the ledger as well, because its state may end with this call.
        """
        # A user's rules are in the ledger alone, where revoking them reaches everywhere.
        new = [rule for rule in new if rule.scope != "user"]
        if not new:
            return {}
        saved = read_rules(state.get(RULES))
        said: Said = yield lambda: self._gate.ledger.said(run.id, run.thread_id, None, place=run.place)
        # What was revoked must not stand in the way of what says the same again.
        living = [rule for rule in saved if rule.request_id not in said.revoked]
        merged = RuleIndex((*living, *new)).rules
        kept = merged[:MAX_RULES_IN_STATE]
        moved = [rule for rule in new if rule in kept]
        if moved and run.thread_id is not None and not run.agent_path and not self._runs.keeps_rules_in_ledger:
            yield lambda: self._gate.ledger.drop_thread_rules(str(run.place), moved)
        return {RULES: write_rules(kept)} if kept != saved else {}
