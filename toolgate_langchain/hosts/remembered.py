"""The standing rules of a gate: listed with where each came from, and revoked by the answer that made it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.rules import RuleIndex, StandingRule
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.approvals.turn import place_of
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, read_rules
from toolgate_langchain.hosts.side import Side
from toolgate_langchain.policy.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from toolgate_langchain.approvals.judge import TurnJudge
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.rule_ledger import Said

__all__ = ["Remembered"]


class Remembered:
    """The part of `ToolGate` that lists and revokes standing rules."""

    ledger: Ledger
    judge: TurnJudge

    def rules(
        self, caller: Caller | str | None = None, *, agent: Any = None, config: Mapping[str, Any] | None = None
    ) -> tuple[StandingRule, ...]:
        """Standing rules, each with the request whose answer made it, by whom, when and until when.

        Rules that have expired are among them (`StandingRule.expired`), revoked ones are not.

        Args:
            caller: The user whose rules of scope `user` are listed, or their id. Left out, those of all users,
                unless a config is given.
            agent: An agent whose state holds rules of a thread. A `GatedAgent` needs none, unless it has a name: the
                ledger has its rules.
            config: The config with the thread whose rules are listed.

        Returns:
            The thread's rules, then the users', each in the order in which they were made.

        Raises:
            ConfigurationError: For an agent without a config, or a config that names no thread.
        """
        return run_steps(self._rules_steps(caller, agent, config, asynchronous=False))

    def arules(
        self, caller: Caller | str | None = None, *, agent: Any = None, config: Mapping[str, Any] | None = None
    ) -> Awaitable[tuple[StandingRule, ...]]:
        """As `rules`, for asynchronous code."""
        return arun_steps(self._rules_steps(caller, agent, config, asynchronous=True))

    def revoke(self, rule: StandingRule | str, *, by: str | None = None) -> bool:
        """Revoke a standing rule. From the next decision of every worker on it does not match.

        No replay, no older checkpoint and no copy in a state brings it back; only a new answer makes it anew.

        Args:
            rule: The rule, or the id of the request whose answer made it.
            by: Who revokes it, for the record.

        Returns:
            Whether there was such a rule, now or before it was revoked; `False` changed nothing.

        Raises:
            ConfigurationError: For a rule that no answer made, so that it has no id.
        """
        return run_steps(self._revoke_steps(rule, by))

    def arevoke(self, rule: StandingRule | str, *, by: str | None = None) -> Awaitable[bool]:
        """As `revoke`, for asynchronous code."""
        return arun_steps(self._revoke_steps(rule, by))

    def _rules_steps(
        self, caller: Caller | str | None, agent: Any, config: Mapping[str, Any] | None, *, asynchronous: bool
    ) -> Steps[tuple[StandingRule, ...]]:
        of_thread: tuple[StandingRule, ...] = ()
        if config is not None:
            of_thread = yield from self._rules_of_thread(agent, config, asynchronous=asynchronous)
        elif agent is not None:
            raise ConfigurationError("rules of an agent are those of a thread: pass the config that names it as well")
        if config is not None and caller is None:
            return of_thread
        whose = caller.id if isinstance(caller, Caller) else caller
        of_users = yield lambda: self.ledger.user_rules(whose)
        return (*of_thread, *of_users)

    def _rules_of_thread(
        self, agent: Any, config: Mapping[str, Any], *, asynchronous: bool
    ) -> Steps[tuple[StandingRule, ...]]:
        thread_id = (config.get("configurable") or {}).get("thread_id")
        if thread_id is None:
            raise ConfigurationError('the config names no thread: {"configurable": {"thread_id": ...}}')
        saved: tuple[StandingRule, ...] = ()
        named = str(getattr(agent, "own_name", ""))
        if agent is not None and hasattr(agent, "get_state"):
            snapshot = yield partial(Side(agent, asynchronous).state, config)
            saved = read_rules(snapshot.values.get(RULES))
            named = str((snapshot.values.get(RUN) or {}).get("agent", ""))
        place = place_of(str(thread_id), named)
        said: Said = yield lambda: self.ledger.said("", str(thread_id), None, place=place)
        return RuleIndex(said.living((*saved, *said.thread_rules))).rules

    def _revoke_steps(self, rule: StandingRule | str, by: str | None) -> Steps[bool]:
        request_id = rule if isinstance(rule, str) else rule.request_id
        if request_id is None:
            raise ConfigurationError("the rule names no request, so no answer made it and there is nothing to revoke")
        at = self.judge.clock()
        seen = isinstance(rule, StandingRule)
        revoked = yield lambda: self.ledger.revoke(request_id, by=by, at=at, seen=seen)
        return revoked is True
