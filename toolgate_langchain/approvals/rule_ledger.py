"""What a ledger keeps of standing rules, and everything that it says for one decision, in one look."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.rules import StandingRule
    from toolgate_langchain.policy.context import RunMemory

__all__ = ["RuleLedger", "Said"]


class Said(NamedTuple):
    """Whatever was said that a decision about a call may depend on, all of one moment."""

    stopped: bool
    """Whether the switch that stops all releases is on."""
    memory: RunMemory
    """What people said in the run."""
    thread_rules: Sequence[StandingRule] = ()
    """Rules of the thread beyond those that its state holds. The same object while nothing changed."""
    user_rules: Sequence[StandingRule] = ()
    """The caller's rules of scope `user`. The same object while nothing changed."""
    taken_back: frozenset[str] = frozenset()
    """Requests of the thread whose approval was taken back; what they made a state remember is void."""
    revoked: frozenset[str] = frozenset()
    """Requests whose rule was revoked, of the thread or of one that is not known; a copy in a state is void."""

    def living(self, rules: Iterable[StandingRule]) -> list[StandingRule]:
        """The rules of a thread that are not void.

        A user's are the ledger's alone: what a state says of them is a copy, or made up.

        Args:
            rules: What the thread's state and the ledger hold.
        """
        return [
            rule
            for rule in rules
            if rule.scope != "user"
            and rule.request_id not in self.revoked
            # A no that took an approval back can itself have made a deny.
            and (rule.effect == "deny" or rule.request_id not in self.taken_back)
        ]


class RuleLedger(Protocol):
    """What a ledger keeps of standing rules. Every method may return an awaitable instead of its value."""

    def said(
        self, run_id: str, thread_id: str | None, caller_id: str | None, *, place: str | None = None
    ) -> Maybe[Said]:
        """Everything that was said of a run, its thread and its caller, in one look.

        Args:
            run_id: The run.
            thread_id: Its thread.
            caller_id: For whom it runs.
            place: Where the thread's rules are kept, as `thread_rules` takes it; under the thread's id if left out.
        """
        ...

    def taken_back(self, thread_id: str) -> Maybe[frozenset[str]]:
        """Requests of a thread whose approval was taken back; what they made a state remember is void."""
        ...

    def thread_rules(self, thread_id: str) -> Maybe[Sequence[StandingRule]]:
        """Rules of a thread beyond those that its state holds.

        This and the two that follow take the thread's place: its id, or `Run.place` where its agent has a name.
        """
        ...

    def add_thread_rule(self, thread_id: str, rule: StandingRule) -> Maybe[None]:
        """Keep a rule of a thread that its state does not hold, or does not hold yet."""
        ...

    def drop_thread_rules(self, thread_id: str, rules: Sequence[StandingRule]) -> Maybe[None]:
        """Forget rules that the state holds by now, or whose approval was taken back."""
        ...

    def user_rules(self, caller_id: str | None = None) -> Maybe[Sequence[StandingRule]]:
        """The rules of scope `user` of one caller, or of all; in the order in which they were made."""
        ...

    def add_user_rule(self, rule: StandingRule) -> Maybe[None]:
        """Keep a rule of scope `user`, once however often a replay brings it.

        It is kept only where the answer that makes it is on record and still the one that holds, and never where
        it was revoked. Of two that are the same the one that was made later stays, but a deny never ends sooner
        because it was said again.

        Args:
            rule: The rule; its request and its caller are known.
        """
        ...

    def revoke(
        self, request_id: str, *, by: str | None = None, at: datetime | None = None, seen: bool = False
    ) -> Maybe[bool]:
        """Revoke the rule that the answer to a request made, of whatever scope; no replay and no copy brings it back.

        Where another answer made the same rule of a user since, that is the one that is revoked.

        Args:
            request_id: The request.
            by: Who revokes it.
            at: When; now if nobody says.
            seen: Whether the rule was seen, so that it is there for sure. A state can outlive the ledger that has the
                answer on record.

        Returns:
            Whether the answer made a rule, which is revoked now or was before.
        """
        ...
