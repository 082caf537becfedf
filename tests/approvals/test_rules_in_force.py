"""Which of several standing rules is in force: for whom it was made, until when, and what is said of the others."""

from datetime import timedelta
from typing import Any

import pytest

from tests.approvals.test_rules import NOW, Tool, rule, view
from toolgate_langchain import StandingRule, Tier
from toolgate_langchain.approvals.rules import RuleIndex

SOON, LATER = NOW + timedelta(hours=1), NOW + timedelta(hours=2)


class TestForWhom:
    """An allow is not lent to anybody else; a deny holds for all callers."""

    @pytest.mark.parametrize(("made", "now"), [("ann", "ben"), ("ann", None), (None, "ann")])
    def test_a_rule_of_another_caller(self, made: str | None, now: str | None) -> None:
        assert view(rule(caller=made), caller=now).allows(Tool(), {}) is None
        assert view(rule(caller=made, effect="deny"), caller=now).denies(Tool(), {}) is not None

    @pytest.mark.parametrize("caller", ["ann", None])
    def test_a_rule_of_the_same_caller(self, caller: str | None) -> None:
        assert view(rule(caller=caller), caller=caller).allows(Tool(), {}) is not None

    def test_one_made_for_each_is_there_for_each(self) -> None:
        both = [rule(caller="ann"), rule(caller="ben")]
        assert len(RuleIndex(both).rules) == 2
        for caller in ("ann", "ben"):
            assert view(*both, caller=caller).allows(Tool(), {}) is not None


class TestTheSameRuleAgain:
    """Of two rules that say the same the later stays, but a deny never ends sooner because it was said again."""

    @pytest.mark.parametrize(
        ("first", "second", "stays"),
        [
            (None, SOON, None),
            (LATER, SOON, LATER),
            (SOON, LATER, LATER),
            (SOON, None, None),
            (None, None, None),
        ],
    )
    def test_a_deny_lasts_as_long_as_the_one_that_ends_last(self, first: Any, second: Any, stays: Any) -> None:
        (one,) = RuleIndex([rule(effect="deny", expires_at=end) for end in (first, second)]).rules
        assert one.expires_at == stays

    def test_of_two_that_end_together_the_later_stays(self) -> None:
        first, second = (rule(effect="deny", expires_at=SOON, request_id=made) for made in ("r1", "r2"))
        assert RuleIndex([first, second]).rules == (second,)

    @pytest.mark.parametrize(("first", "second"), [(None, SOON), (LATER, SOON), (SOON, LATER), (SOON, None)])
    def test_an_allow_ends_when_it_was_last_said(self, first: Any, second: Any) -> None:
        (one,) = RuleIndex([rule(expires_at=end) for end in (first, second)]).rules
        assert one.expires_at == second

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"scope": "run", "run_id": "a"}, {"scope": "run", "run_id": "b"}),
            ({"scope": "run", "run_id": "a"}, {"scope": "thread", "run_id": "a"}),
            ({"caller": "ann"}, {"caller": None}),
            ({"arguments": None}, {"arguments": {}}),
        ],
    )
    def test_rules_of_another_run_scope_or_caller_are_not_the_same(
        self, one: dict[str, Any], other: dict[str, Any]
    ) -> None:
        assert len(RuleIndex([rule(**one), rule(**other)])) == 2


class TestWhatIsSaid:
    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({}, "standing rule for any call of it, made 2026-01-02 03:04 for this thread"),
            (
                {"arguments": {}, "created_by": "ann"},
                "standing rule for exactly these arguments by ann, made 2026-01-02 03:04 for this thread",
            ),
            (
                {"scope": "run", "run_id": "run"},
                "standing rule for any call of it, made 2026-01-02 03:04 for this run",
            ),
        ],
    )
    def test_of_a_rule_that_matches(self, fields: dict[str, Any], said: str) -> None:
        assert view(rule(**fields)).allows(Tool(), {}) == said
        assert view(rule(effect="deny", **fields)).denies(Tool(), {}) == said

    @pytest.mark.parametrize(
        ("fields", "tool", "said"),
        [
            ({}, Tool(fingerprint="g"), "a standing rule for it is void, because the tool's definition changed"),
            ({}, Tool(tier=Tier.CONSEQUENTIAL), "a standing rule for it is void, because the tool's tier changed"),
            (
                {},
                Tool(fingerprint="g", tier=Tier.CONSEQUENTIAL),
                "a standing rule for it is void, because the tool's definition changed",
            ),
            ({"expires_at": NOW}, Tool(), "a standing rule for it expired at 2026-01-02 03:04"),
        ],
    )
    def test_of_an_allow_that_no_longer_holds(self, fields: dict[str, Any], tool: Tool, said: str) -> None:
        assert view(rule(**fields)).void(tool, {}) == said

    @pytest.mark.parametrize(
        "elsewhere",
        [
            {"effect": "deny"}, {"surface": "cli"}, {"agent_path": ("delegate",)}, {"caller": "ben"},
            {"scope": "run", "run_id": "earlier"}, {"arguments": {"n": 1}}, {"origin": "server:a"},
        ],
    )  # fmt: skip
    def test_nothing_of_a_rule_that_was_never_for_this_call(self, elsewhere: dict[str, Any]) -> None:
        changed, never = Tool(fingerprint="g"), rule(expires_at=NOW, **elsewhere)
        assert view(never).void(changed, {}) is None
        assert view(never, rule()).void(changed, {}) is not None

    def test_each_rule_is_looked_at_and_not_only_the_first(self) -> None:
        several: list[StandingRule] = [
            rule(arguments=None, surface="cli"),
            rule(arguments=None, effect="deny", expires_at=NOW),
            rule(arguments=None, expires_at=NOW),
            rule(arguments={"n": 1}),
        ]
        assert view(*several).allows(Tool(), {"n": 1}) is not None
        assert view(*several).allows(Tool(), {"n": 2}) is None
        assert view(*several).denies(Tool(), {"n": 1}) is None
        assert "expired" in str(view(*several).void(Tool(), {"n": 2}))
