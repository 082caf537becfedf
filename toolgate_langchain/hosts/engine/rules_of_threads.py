"""The standing rules that hold in a thread: of its state, of the ledger and of its user, laid out for matching."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.rules import MAX_RULES_IN_STATE, RuleIndex, StandingRule
from toolgate_langchain.hosts.engine.run_state import RULES, read_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolgate_langchain.approvals.rule_ledger import Said
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["RulesOfThreads"]

_EMPTY: Final = RuleIndex()

_CACHED: Final = 256
"""Rule indexes kept; more are laid out again when they come round."""


class RulesOfThreads:
    """The standing rules of one agent's threads.

    Args:
        gate: The gate.
    """

    def __init__(self, gate: ToolGate) -> None:
        self._gate = gate
        self._indexes: dict[str, tuple[tuple[Any, ...], Sequence[StandingRule], RuleIndex, RuleIndex]] = {}
        self._of_users: dict[str, tuple[Sequence[StandingRule], RuleIndex]] = {}

    def look(self, state: Mapping[str, Any], run: Run) -> Steps[tuple[RuleIndex, Said]]:
        """All standing rules of the thread and the caller, and whatever else was said, all of one moment.

        Args:
            state: The agent's state.
            run: The run.
        """
        saved = state.get(RULES)
        caller = run.context.caller_id
        said: Said = yield lambda: self._gate.ledger.said(run.id, run.thread_id, caller, place=run.place)
        mine = self._of_user(caller, said.user_rules)
        if not saved and not said.thread_rules:
            return mine, said
        if run.thread_id is None:
            said = said._replace(taken_back=(yield from self._taken_back(saved)))
        made_of, cached = (saved, said.taken_back, said.revoked), self._indexes.get(str(run.thread_id))
        # A ledger hands out the very same rules while nothing changed; anything else is laid out anew.
        if cached is None or cached[0] != made_of or cached[1] is not said.thread_rules or cached[2] is not mine:
            if len(self._indexes) > _CACHED:
                self._indexes.clear()
            living = said.living((*read_rules(saved), *said.thread_rules))
            cached = (made_of, said.thread_rules, mine, RuleIndex(living, beside=mine))
            self._indexes[str(run.thread_id)] = cached
        return cached[3], said

    def _of_user(self, caller_id: str | None, rules: Sequence[StandingRule]) -> RuleIndex:
        """A user's rules laid out, once for all of their threads."""
        if caller_id is None or not rules:
            return _EMPTY
        cached = self._of_users.get(caller_id)
        if cached is None or cached[0] is not rules:
            if len(self._of_users) > _CACHED:
                self._of_users.clear()
            cached = self._of_users[caller_id] = (rules, RuleIndex(rules))
        return cached[1]

    def _taken_back(self, saved: Any) -> Steps[frozenset[str]]:
        """The requests whose approval was taken back after it had made a rule.

        Where no thread has a name, the ledger cannot list them; there are no rules but those of the state.
        """
        void: set[str] = set()
        for request_id in dict.fromkeys(rule.request_id for rule in read_rules(saved) if rule.effect == "allow"):
            held = None if request_id is None else (yield partial(self._gate.ledger.answer_to, request_id))
            if request_id is not None and held is not None and held.type == "reject":
                void.add(request_id)
        return frozenset(void)

    def carried(self, state: Mapping[str, Any], run: Run, *, in_ledger: bool) -> Steps[tuple[StandingRule, ...] | None]:
        """The rules to write when a run starts; `None` where nothing changes.

        Rules of a subagent stay in the ledger: its state may end with the call that it runs in, and
        whatever it took out of the ledger would be lost with it.

        Args:
            state: The agent's state.
            run: The run.
            in_ledger: Whether the ledger keeps them also where the state has them.
        """
        saved = read_rules(state.get(RULES))
        waiting: Sequence[StandingRule] = ()
        revoked: frozenset[str] = frozenset()
        if run.thread_id is not None:
            said: Said = yield lambda: self._gate.ledger.said(run.id, run.thread_id, None, place=run.place)
            waiting, revoked = said.thread_rules, said.revoked
        living = tuple(
            rule for rule in saved if (rule.scope != "run" or rule.run_id == run.id) and rule.request_id not in revoked
        )
        taken: tuple[StandingRule, ...] = ()
        if not run.agent_path:
            ended = [rule for rule in waiting if rule.scope == "run" and rule.run_id != run.id]
            room = MAX_RULES_IN_STATE - len(living)
            if not in_ledger:
                taken = tuple(rule for rule in waiting if not rule.agent_path and rule not in ended)[: max(room, 0)]
            if ended or taken:
                yield lambda: self._gate.ledger.drop_thread_rules(str(run.place), [*ended, *taken])
        if len(living) == len(saved) and not taken:
            return None
        return (*living, *taken)
