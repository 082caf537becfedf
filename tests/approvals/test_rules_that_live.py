"""Which rules that a state or the ledger holds are alive, and for whom those of a caller are in force."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.approvals.test_rules import NOW, Tool, rule, view
from toolgate_langchain import Tier
from toolgate_langchain.approvals.rule_ledger import Said
from toolgate_langchain.approvals.rules import RuleIndex, RuleView, which_stays
from toolgate_langchain.policy.context import RunMemory

ANNS: dict[str, Any] = {"scope": "user", "caller": "ann", "request_id": "r"}


def said(**more: Any) -> Said:
    return Said(False, RunMemory(), **more)


class TestAlive:
    def test_a_rule_whose_request_nobody_spoke_of_again(self) -> None:
        allow, deny = rule(request_id="a"), rule(request_id="b", effect="deny")
        assert said().living([allow, deny]) == [allow, deny]

    def test_no_allow_of_an_approval_that_was_taken_back(self) -> None:
        other = rule(request_id="b")
        assert said(taken_back=frozenset({"a"})).living([rule(request_id="a"), other]) == [other]

    def test_but_the_deny_of_the_no_that_took_it_back(self) -> None:
        deny = rule(request_id="a", effect="deny")
        assert said(taken_back=frozenset({"a"})).living([deny]) == [deny]

    @pytest.mark.parametrize("effect", ["allow", "deny"])
    def test_nothing_that_was_revoked(self, effect: Any) -> None:
        assert said(revoked=frozenset({"a"})).living([rule(request_id="a", effect=effect)]) == []

    @pytest.mark.parametrize("effect", ["allow", "deny"])
    def test_no_rule_of_a_caller_that_is_not_the_ledgers_own(self, effect: Any) -> None:
        assert said().living([rule(**ANNS, effect=effect)]) == []


class TestOfACaller:
    @pytest.mark.parametrize("missing", ["caller", "request_id"])
    def test_it_says_whose_it_is_and_which_answer_made_it(self, missing: str) -> None:
        with pytest.raises(ValidationError):
            rule(**{**ANNS, missing: None})

    @pytest.mark.parametrize("effect", ["allow", "deny"])
    @pytest.mark.parametrize(("caller", "holds"), [("ann", True), ("ben", False), (None, False)])
    def test_it_holds_for_that_caller_alone_also_where_it_forbids(self, effect: Any, caller: Any, holds: bool) -> None:
        """What one user never wants is not for another user to suffer."""
        seen = view(rule(**ANNS, effect=effect), caller=caller)
        found = seen.denies(Tool(), {}) if effect == "deny" else seen.allows(Tool(), {})
        assert (found is not None) is holds


class TestBeside:
    """Rules that were laid out already are looked up with the others."""

    BESIDE = RuleIndex([rule(tool_name="other"), rule(arguments={"n": 1}, effect="deny")])

    def looked_up(self, index: RuleIndex) -> RuleView:
        return RuleView(index, surface="chat", agent_path=(), run_id="run", now=NOW)

    def test_they_are_listed_and_counted(self) -> None:
        index = RuleIndex([rule()], beside=self.BESIDE)
        assert len(index) == 3
        assert [one for one in index.rules if one in self.BESIDE.rules] == list(self.BESIDE.rules)

    @pytest.mark.parametrize("own", [[], [rule()]], ids=["alone", "with others"])
    def test_they_are_in_force(self, own: Any) -> None:
        seen = self.looked_up(RuleIndex(own, beside=self.BESIDE))
        assert seen.denies(Tool(), {"n": 1}) is not None
        assert seen.denies(Tool(), {"n": 2}) is None
        assert seen.allows(Tool(name="other"), {"n": 1}) is not None
        assert (seen.allows(Tool(), {"n": 2}) is not None) is bool(own)

    def test_each_is_matched_by_its_own_tool_and_arguments(self) -> None:
        seen = self.looked_up(RuleIndex(beside=self.BESIDE))
        assert seen.allows(Tool(name="other", tier=Tier.READ_ONLY), {}) is None
        assert seen.denies(Tool(name="other"), {"n": 1}) is None


def test_of_two_that_were_made_at_one_moment_the_one_that_comes_stays() -> None:
    kept, made = rule(request_id="a"), rule(request_id="b")
    assert which_stays(kept, made) is made
