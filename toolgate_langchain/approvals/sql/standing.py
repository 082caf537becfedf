"""The part of a ledger in a database that keeps standing rules, and says what was said in one look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from toolgate_langchain.approvals.sql import answers, rules
from toolgate_langchain.approvals.sql.revoking import revoke
from toolgate_langchain.approvals.sql.said import rules_of, said
from toolgate_langchain.approvals.sql.stamps import KeptRules
from toolgate_langchain.approvals.sql.tables import micros

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.rule_ledger import Said
    from toolgate_langchain.approvals.rules import StandingRule

__all__ = ["RulesInSql"]

_T = TypeVar("_T")


class RulesInSql:
    """The part of `SqlLedger` that keeps standing rules; see `RuleLedger`.

    Rules that were read once are not read again while the database says that they did not change.
    """

    def __init__(self) -> None:
        self._kept = KeptRules()

    if TYPE_CHECKING:

        def _read(self, work: Callable[..., _T], *args: Any, **kwargs: Any) -> Maybe[_T]: ...

        def _write(self, work: Callable[..., _T], *args: Any, **kwargs: Any) -> Maybe[_T]: ...

        def _micros(self) -> int: ...

    def said(
        self, run_id: str, thread_id: str | None, caller_id: str | None, *, place: str | None = None
    ) -> Maybe[Said]:
        """See `RuleLedger.said`."""
        return self._read(said, run_id, thread_id, caller_id, self._kept, thread_id if place is None else place)

    def taken_back(self, thread_id: str) -> Maybe[frozenset[str]]:
        """See `RuleLedger.taken_back`."""
        return self._read(answers.taken_back, thread_id)

    def thread_rules(self, thread_id: str) -> Maybe[Sequence[StandingRule]]:
        """See `RuleLedger.thread_rules`."""
        return self._read(rules_of, rules.THREAD, thread_id, self._kept)

    def add_thread_rule(self, thread_id: str, rule: StandingRule) -> Maybe[None]:
        """See `RuleLedger.add_thread_rule`."""
        return self._write(rules.add, rules.THREAD, thread_id, rule, at=self._micros())

    def drop_thread_rules(self, thread_id: str, gone: Sequence[StandingRule]) -> Maybe[None]:
        """See `RuleLedger.drop_thread_rules`."""
        return self._write(rules.drop, rules.THREAD, thread_id, tuple(gone))

    def user_rules(self, caller_id: str | None = None) -> Maybe[Sequence[StandingRule]]:
        """See `RuleLedger.user_rules`."""
        if caller_id is None:
            return self._read(rules.of_all_users)
        return self._read(rules_of, rules.USER, caller_id, self._kept)

    def add_user_rule(self, rule: StandingRule) -> Maybe[None]:
        """See `RuleLedger.add_user_rule`."""
        return self._write(rules.add_of_user, rule, at=self._micros())

    def revoke(
        self, request_id: str, *, by: str | None = None, at: datetime | None = None, seen: bool = False
    ) -> Maybe[bool]:
        """See `RuleLedger.revoke`. The record holds it."""
        return self._write(revoke, request_id, by=by, at=self._micros() if at is None else micros(at), seen=seen)
