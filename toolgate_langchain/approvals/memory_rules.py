"""Standing rules in this process's memory: those that no state holds, and those that a user has everywhere."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.rule_ledger import Said
from toolgate_langchain.approvals.rules import which_stays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.rules import StandingRule
    from toolgate_langchain.policy.context import RunMemory

__all__ = ["RulesInMemory"]

_NONE: frozenset[str] = frozenset()


class RulesInMemory:
    """The part of `InMemoryLedger` that keeps standing rules; see `RuleLedger`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._answers: dict[str, ApprovalAnswer] = {}
        self._threads: dict[str, str | None] = {}
        """Request id to the thread on which it was answered."""
        self._taken_back: dict[str, frozenset[str]] = {}
        self._rules: dict[str, list[StandingRule]] = {}
        """Rules by their thread."""
        self._of_users: dict[str, tuple[StandingRule, ...]] = {}
        """Rules by the user whose they are."""
        self._forbidding: set[str | None] = set()
        """Users who forbade something, so that their calls are looked at also where they need nobody."""
        self._revoked: dict[str, str] = {}
        """Requests whose rule is not made again, and the one whose rule took its place, if any did."""
        self._revoked_on: dict[str | None, frozenset[str]] = {}
        """Revoked requests by their thread, `None` being one that is not known."""

    def stopped(self) -> bool:
        """See `Ledger.stopped`."""
        raise NotImplementedError

    def memory(self, run_id: str) -> RunMemory:
        """See `Ledger.memory`."""
        raise NotImplementedError

    def said(self, run_id: str, thread_id: str | None, caller_id: str | None, *, place: str | None = None) -> Said:
        """See `RuleLedger.said`."""
        place = thread_id if place is None else place
        with self._lock:
            return Said(
                stopped=self.stopped(),
                memory=self.memory(run_id),
                thread_rules=() if place is None else self.thread_rules(place),
                user_rules=() if caller_id is None else self.user_rules(caller_id),
                taken_back=_NONE if thread_id is None else self.taken_back(thread_id),
                revoked=self._revoked_on.get(thread_id, _NONE) | self._revoked_on.get(None, _NONE),
            )

    # --- of a thread --------------------------------------------------------------------------

    def taken_back(self, thread_id: str) -> frozenset[str]:
        """See `RuleLedger.taken_back`."""
        return self._taken_back.get(thread_id, _NONE)

    def thread_rules(self, thread_id: str) -> Sequence[StandingRule]:
        """See `RuleLedger.thread_rules`."""
        return self._rules.get(thread_id, ())

    def add_thread_rule(self, thread_id: str, rule: StandingRule) -> None:
        """See `RuleLedger.add_thread_rule`."""
        with self._lock:
            kept = [other for other in self._rules.get(thread_id, ()) if other.identity != rule.identity]
            self._rules[thread_id] = [*kept, rule]

    def drop_thread_rules(self, thread_id: str, rules: Sequence[StandingRule]) -> None:
        """See `RuleLedger.drop_thread_rules`."""
        gone = {rule.identity for rule in rules}
        with self._lock:
            self._rules[thread_id] = [rule for rule in self._rules.get(thread_id, ()) if rule.identity not in gone]

    # --- of a user ----------------------------------------------------------------------------

    def user_rules(self, caller_id: str | None = None) -> Sequence[StandingRule]:
        """See `RuleLedger.user_rules`."""
        if caller_id is not None:
            return self._of_users.get(caller_id, ())
        with self._lock:
            return [rule for rules in self._of_users.values() for rule in rules]

    def add_user_rule(self, rule: StandingRule) -> None:
        """See `RuleLedger.add_user_rule`."""
        caller, request_id = str(rule.caller), str(rule.request_id)
        with self._lock:
            answer = self._answers.get(request_id)
            if answer is None or answer.type != rule.answered_with or request_id in self._revoked:
                return
            rules = self._of_users.get(caller, ())
            same = next((other for other in rules if other.identity == rule.identity), None)
            if same is None:
                self._set_rules_of(caller, (*rules, rule))
            elif same.request_id != request_id:
                stays = which_stays(same, rule)
                goes = same if stays is rule else rule
                self._revoked[str(goes.request_id)] = str(stays.request_id)
                self._set_rules_of(caller, tuple(stays if other is same else other for other in rules))

    def _set_rules_of(self, caller: str, rules: tuple[StandingRule, ...]) -> None:
        self._of_users[caller] = rules
        if any(rule.effect == "deny" for rule in rules):
            self._forbidding.add(caller)
        else:
            self._forbidding.discard(caller)

    # --- the end of a rule --------------------------------------------------------------------

    def revoke(self, request_id: str, *, by: str | None = None, at: datetime | None = None, seen: bool = False) -> bool:
        """See `RuleLedger.revoke`. Who did it and when is not kept: this ledger has no record."""
        with self._lock:
            while instead := self._revoked.get(request_id, ""):
                request_id = instead
            if request_id in self._revoked:
                return True
            answer = self._answers.get(request_id)
            if not seen and (answer is None or answer.remember is None):
                return False
            self._forget_rules(request_id)
            self._revoked[request_id] = ""
            thread = self._threads.get(request_id)
            self._revoked_on[thread] = self._revoked_on.get(thread, _NONE) | {request_id}
            return True

    def _forget_rules(self, request_id: str) -> None:
        """Forget the rules that an answer made."""
        for thread, rules in self._rules.items():
            if any(rule.request_id == request_id for rule in rules):
                self._rules[thread] = [rule for rule in rules if rule.request_id != request_id]
        for caller, kept in self._of_users.items():
            if any(rule.request_id == request_id for rule in kept):
                self._set_rules_of(caller, tuple(rule for rule in kept if rule.request_id != request_id))
