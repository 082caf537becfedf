"""How one call is decided, asked by hand: the rows of the decision on what an operator configured, and no more."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.rules import RuleIndex, RuleView, StandingRule
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.checks import check_call, check_given
from toolgate_langchain.hosts.offers import Offers
from toolgate_langchain.policy.context import NO_RULES, CallFacts, RulesInForce, RunContext, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, Rulebook, decide, explain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.judge import TurnJudge
    from toolgate_langchain.policy.decision import Decision
    from toolgate_langchain.policy.surface import Surface

__all__ = ["Deciding"]


class Deciding(Offers):
    """The part of `ToolGate` that decides one call, on what it is given."""

    rulebook: Rulebook
    judge: TurnJudge

    def decide(self, call: ToolCall | Mapping[str, Any], *, surface: str | Surface, **given: Any) -> Decision:
        """Decide one call. Pure: nothing is asked, written or consumed.

        Args:
            call: A LangChain tool call; `name` and `args` are read.
            surface: Where the run is driven from.
            **given: `caller`, `configuration` and `zone` as for `context`; `rules` (standing rules,
                or a `RulesInForce`), `memory` (`RunMemory`), `facts` (`CallFacts`), `now`,
                `agent_path` and `run_id` for rules.
        """
        return decide(*self._question(call, surface, **given))

    def explain(self, call: ToolCall | Mapping[str, Any], *, surface: str | Surface, **given: Any) -> Decision:
        """Decide as `decide` does, with all nine rows in the trace.

        Args:
            call: A LangChain tool call.
            surface: Where the run is driven from.
            **given: As for `decide`.
        """
        return explain(*self._question(call, surface, **given))

    def _question(
        self,
        call: ToolCall | Mapping[str, Any],
        surface: str | Surface,
        *,
        rules: RulesInForce | Sequence[StandingRule] = (),
        memory: RunMemory | None = None,
        facts: CallFacts | None = None,
        now: datetime | None = None,
        agent_path: tuple[str, ...] = (),
        run_id: str = "",
        **where: Any,
    ) -> tuple[ProposedCall, RunContext, Rulebook, RulesInForce, RunMemory, CallFacts]:
        check_call(call)
        check_given({"memory": (memory, RunMemory), "facts": (facts, CallFacts), "now": (now, datetime)})
        context = self.context(surface, **where)
        if isinstance(rules, list | tuple):
            for rule in rules:
                if not isinstance(rule, StandingRule):
                    raise ConfigurationError(f"rules holds {rule!r}, which is not a StandingRule")
            index = RuleIndex(rules)
            time = now or self.judge.clock()
            view: RulesInForce = (
                RuleView(
                    index,
                    surface=context.surface.name,
                    agent_path=agent_path,
                    run_id=run_id,
                    now=time,
                    caller=context.caller_id,
                )
                if rules
                else NO_RULES
            )
        else:
            if not callable(getattr(rules, "denies", None)) or not callable(getattr(rules, "allows", None)):
                raise ConfigurationError(f"rules is {rules!r}; it must be a list of StandingRule, or a RulesInForce")
            view = rules  # type: ignore[assignment]  # whatever is no list of rules is a RulesInForce
        entry, resolving = self.catalog.known(call["name"]), self.rulebook.resolving
        proposed = ProposedCall.of(call["name"], call["args"], entry, resolving)
        return proposed, context, self.rulebook, view, memory or RunMemory(), facts or CallFacts()
