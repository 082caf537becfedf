"""A turn judged on its own: what is saved of it, what counts towards the cap, and what late calls do not get."""

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langchain_core.tools import StructuredTool

from tests.approvals.test_rules import rule
from tests.support import Recorder, call
from toolgate_langchain import Caller, InMemoryLedger, StandingRule, Surface, Tier, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.approvals.heuristics import HeuristicContext
from toolgate_langchain.approvals.rules import RuleIndex
from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.approvals.turn import Run, TurnRecord
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.policy.context import RunContext
from toolgate_langchain.vocabulary import Verdict

RUN = Run("run", RunContext(Surface("chat")), "thread")


class Bench:
    """A gate with three tools, and its judge."""

    def __init__(self, **gate: Any) -> None:
        ran = Recorder()
        self.catalog = ToolCatalog.from_tools(
            [
                ran.tool("save", ToolProfile(tier=Tier.ROUTINE)),
                ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)),
                ran.tool("look", ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda _: False)),
            ]
        )
        self.ledger = InMemoryLedger()
        self.gate = ToolGate(self.catalog, ledger=self.ledger, **gate)

    def judge(self, *calls: ToolCall, rules: tuple[StandingRule, ...] = (), run: Run = RUN, **how: Any) -> Any:
        """The saved turn, or `None` where nothing has to be saved."""
        message_id = how.pop("message_id", "m")
        return run_steps(self.gate.judge.judge(run, message_id, calls, self.catalog.get, RuleIndex(rules), **how))

    def always(self, **fields: Any) -> StandingRule:
        """A rule that allows any call of `save`."""
        entry = self.catalog.get("save")
        assert entry is not None
        return rule(tool_name="save", fingerprint=entry.fingerprint, tier=entry.tier, **fields)

    @property
    def counted(self) -> int:
        return self.ledger.memory("run").auto_approved_turns


def verdicts(turn: TurnRecord) -> list[Verdict]:
    return [record.verdict for record in turn.calls]


class TestWhatIsSaved:
    def test_nothing_of_a_turn_that_needs_nobody(self) -> None:
        assert Bench().judge(call("read", "a")) is None

    def test_the_same_turn_where_it_must_be_saved(self) -> None:
        turn = Bench().judge(call("read", "a"), save=True)
        assert verdicts(turn) == [Verdict.ALLOW]
        assert turn.settled

    def test_a_turn_with_a_predicate_so_that_it_is_asked_once(self) -> None:
        turn = Bench().judge(call("look", "a"))
        assert [record.predicate for record in turn.calls] == [False]

    def test_a_turn_that_is_asked_about_is_not_settled(self) -> None:
        turn = Bench().judge(call("read", "a"), call("save", "b", n=1))
        assert not turn.settled
        assert [(record.outcome, record.shown) for record in turn.calls] == [("released", ""), ("", '{"n":1}')]

    def test_of_what_is_asked_about_no_more_than_its_first_2000_characters_a_second_time(self) -> None:
        (record,) = Bench().judge(call("save", "a", text="x" * 5_000)).calls
        assert len(record.shown) == 2_000


class TestIds:
    def test_are_random_for_a_turn_that_is_judged_when_it_arrives(self) -> None:
        bench = Bench()
        first, second = (bench.judge(call("save", "a", n=1)) for _ in range(2))
        assert first.turn_id != second.turn_id
        assert first.calls[0].request_id != second.calls[0].request_id

    def test_are_derived_for_late_calls_so_that_a_replay_makes_the_same_ones(self) -> None:
        bench = Bench()
        first, second = (bench.judge(call("save", "a", n=1), late=True) for _ in range(2))
        assert first == second
        assert len(first.turn_id) == len(first.calls[0].request_id) == 32

    def test_differ_for_late_calls_of_another_place(self) -> None:
        bench = Bench()
        judged = [
            bench.judge(call("save", "a", n=1), late=True),
            bench.judge(call("save", "a", n=1), late=True, message_id="other"),
            bench.judge(call("save", "a", n=1), late=True, run=replace(RUN, id="other")),
            bench.judge(call("save", "b", n=1), late=True),
            bench.judge(call("save", "a", n=2), late=True),
        ]
        assert len({turn.calls[0].request_id for turn in judged}) == 5
        assert len({turn.turn_id for turn in judged}) == 3

    def test_of_the_turn_that_late_calls_join(self) -> None:
        assert Bench().judge(call("save", "a"), late=True, joins="turn").turn_id == "turn"


class TestHeuristics:
    @pytest.mark.parametrize("late", [False, True])
    def test_late_calls_are_judged_without_them(self, late: bool) -> None:
        asked: list[str] = []

        def yes(one: ToolCall, _: HeuristicContext) -> bool:
            asked.append(str(one["id"]))
            return True

        turn = Bench(heuristics=[yes]).judge(call("save", "a"), late=late)
        assert asked == ([] if late else ["a"])
        assert verdicts(turn) == [Verdict.ASK if late else Verdict.ALLOW]
        assert turn.calls[0].heuristics_run is not late

    def test_they_are_given_the_messages_and_the_state(self) -> None:
        seen: list[HeuristicContext] = []

        def no(_: ToolCall, context: HeuristicContext) -> bool:
            seen.append(context)
            return False

        Bench(heuristics=[no]).judge(call("save", "a"), state={"mood": "calm"})
        assert [context.state for context in seen] == [{"mood": "calm"}]


class TestTheCap:
    def test_a_turn_counts_in_which_a_rule_stood_in_and_nobody_is_asked(self) -> None:
        bench = Bench()
        bench.judge(call("read", "a"), save=True)
        assert bench.counted == 0
        bench.judge(call("save", "a"), call("read", "b"), rules=(bench.always(),))
        assert bench.counted == 1

    def test_a_turn_in_which_somebody_is_asked_does_not(self) -> None:
        bench = Bench()
        turn = bench.judge(call("save", "a", n=1), call("save", "b", n=2), rules=(bench.always(arguments={"n": 1}),))
        assert verdicts(turn) == [Verdict.ALLOW, Verdict.ASK]
        assert bench.counted == 0

    @pytest.mark.parametrize(
        ("before", "verdict", "notes"),
        [
            (0, Verdict.ALLOW, ()),
            (1, Verdict.ASK, ("1 turn ran without anybody being asked",)),
            (2, Verdict.ASK, ("2 turns ran without anybody being asked",)),
        ],
    )
    def test_at_the_cap_the_call_is_asked_and_the_request_says_how_many_turns_ran_unasked(
        self, before: int, verdict: Verdict, notes: tuple[str, ...]
    ) -> None:
        bench = Bench(max_auto_approvals=1)
        for turn in range(before):
            bench.ledger.note_auto_approved("run", str(turn))
        judged = bench.judge(call("save", "a"), rules=(bench.always(),))
        assert (judged.calls[0].verdict, judged.calls[0].notes) == (verdict, notes)
        assert judged.calls[0].at_cap is (verdict is Verdict.ASK)


class TestOtherwise:
    def test_calls_beyond_the_limit_of_requests_are_refused(self) -> None:
        bench = Bench()
        bench.gate.judge.max_requests = 2
        turn = bench.judge(*[call("save", str(n), n=n) for n in range(3)])
        assert verdicts(turn) == [Verdict.ASK, Verdict.ASK, Verdict.DENY]
        assert (turn.calls[2].code, turn.calls[2].outcome) == ("too_many_requests", "refused")
        assert turn.calls[2].reason == "more than 2 calls of this turn need a person"
        assert turn.calls[2].needs_person

    @pytest.mark.parametrize(("caller", "verdict"), [("ann", Verdict.ALLOW), ("ben", Verdict.ASK), (None, Verdict.ASK)])
    def test_a_rule_releases_for_the_caller_for_whom_it_was_made(self, caller: str | None, verdict: Verdict) -> None:
        bench = Bench()
        who = None if caller is None else Caller(caller)
        run = replace(RUN, context=replace(RUN.context, caller=who))
        assert verdicts(bench.judge(call("save", "a"), rules=(bench.always(caller="ann"),), run=run)) == [verdict]

    def test_what_was_noted_of_the_tool_is_told(self) -> None:
        bench = Bench()
        bench.ledger.note_rejected("run", "another call", "save", "r")
        bench.ledger.note_change("run", "save", "it was changed before")
        (record,) = bench.judge(call("save", "a"), rules=(replace(bench.always(), fingerprint="old"),)).calls
        assert record.variant
        assert record.notes == (
            "a call of this tool with other arguments was rejected in this run; this is a variant of it",
            "a standing rule for it is void, because the tool's definition changed",
            "it was changed before",
        )

    def test_where_all_releases_are_stopped_nothing_is_asked(self) -> None:
        bench = Bench()
        bench.ledger.stop()
        turn = bench.judge(call("save", "a"), call("read", "b"), save=True)
        assert [record.code for record in turn.calls] == ["stopped", "stopped"]

    def test_what_is_no_tool_and_what_does_not_fit_is_refused_beside_what_is_asked(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        bench = Bench()
        bench.catalog.register(Recorder().tool("count", ToolProfile(tier=Tier.READ_ONLY), schema=schema))
        turn = bench.judge(call("Save", "a"), call("count", "b", n="many"), call("save", "c"))
        assert [record.code for record in turn.calls] == ["unknown_tool", "invalid_arguments", "approval_required"]
        assert [record.outcome for record in turn.calls] == ["refused", "refused", ""]
        assert [bool(record.digest) for record in turn.calls] == [False, False, True]

    def test_the_predicate_of_a_tool_that_may_not_take_part_is_not_asked(self) -> None:
        bench = Bench()
        bench.catalog.switch_tool("look", on=False)
        (record,) = bench.judge(call("look", "a"), save=True).calls
        assert (record.code, record.predicate) == ("tool_disabled", None)

    def test_where_nobody_is_there_a_rule_releases_nothing_that_may_need_a_person(self) -> None:
        cron = Surface("cron", attended=False, routine=Verdict.ALLOW)
        catalog = ToolCatalog.from_tools(
            [Recorder().tool("save", ToolProfile(tier=Tier.ROUTINE, requires_approval=True))]
        )
        bench = Bench()
        bench.catalog, bench.gate = catalog, ToolGate(catalog, [cron], ledger=bench.ledger)
        run = replace(RUN, context=RunContext(cron))
        (record,) = bench.judge(call("save", "a"), rules=(bench.always(surface="cron"),), run=run).calls
        assert (record.verdict, record.code, record.layer) == (Verdict.DENY, "unattended", "surface")
        assert record.reason.startswith("it is not in the unattended set of surface 'cron': it is marked")

    def test_hidden_characters_bar_rules_and_heuristics_and_the_heuristics_are_not_asked(self) -> None:
        asked: list[str] = []

        def yes(one: ToolCall, _: HeuristicContext) -> bool:
            asked.append(str(one["id"]))
            return True

        bench = Bench(heuristics=[yes])
        (record,) = bench.judge(call("save", "a", text="a\u200bb"), rules=(bench.always(),)).calls
        assert (record.verdict, bool(record.warnings), asked) == (Verdict.ASK, True, [])

    def test_a_heuristic_is_not_asked_where_a_rule_or_nobody_is_needed(self) -> None:
        asked: list[str] = []

        def yes(one: ToolCall, _: HeuristicContext) -> bool:
            asked.append(str(one["id"]))
            return True

        bench = Bench(heuristics=[yes])
        turn = bench.judge(call("save", "a"), call("read", "b"), rules=(bench.always(),))
        assert [record.code for record in turn.calls] == ["standing_rule", "not_required"]
        assert asked == []


class TestTheRecord:
    def test_holds_the_effective_arguments_where_they_are_not_the_models_own(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        bench = Bench()
        bench.catalog.register(typed("count"))
        bench.catalog.register(Recorder().tool("plain", ToolProfile(tier=Tier.ROUTINE), schema=schema))
        coerced, own, plain = bench.judge(call("count", "a", n="5"), call("count", "b", n=5), call("plain", "c")).calls
        assert [record.arguments for record in (coerced, own, plain)] == [{"n": 5}, None, None]
        assert coerced.shown == own.shown == '{"n":5}'
        assert coerced.exact
        assert plain.args_schema["properties"] == schema["properties"]

    def test_binds_the_call_to_its_definition_and_its_caller(self) -> None:
        bench, digests = Bench(), set()
        entry = bench.catalog.get("save")
        assert entry is not None
        for caller in (None, Caller("ann"), Caller("ben")):
            run = replace(RUN, context=replace(RUN.context, caller=caller))
            (record,) = bench.judge(call("save", "a", n=1), run=run, late=True).calls
            assert (record.fingerprint, record.origin, record.tier) == (entry.fingerprint, "local", Tier.ROUTINE)
            digests.add(record.digest)
        assert len(digests) == 3
        assert "" not in digests

    def test_of_a_refused_call_binds_nothing(self) -> None:
        bench = Bench()
        bench.catalog.switch_tool("save", on=False)
        (record,) = bench.judge(call("save", "a"), save=True).calls
        assert (record.verdict, record.fingerprint, record.digest) == (Verdict.DENY, "", "")

    def test_names_the_heuristic_and_says_where_a_policy_wants_a_person(self) -> None:
        def safe(_: ToolCall, __: HeuristicContext) -> bool:
            return True

        (record,) = Bench(heuristics=[safe]).judge(call("save", "a")).calls
        assert (record.heuristic, record.code, record.must_ask) == ("safe", "heuristic:safe", False)
        bench = Bench(heuristics=[safe], argument_policies=[lambda _: PolicyAnswer(Verdict.ASK, "look")])
        (record,) = bench.judge(call("save", "a"), rules=(bench.always(),)).calls
        assert (record.heuristic, record.verdict, record.must_ask) == (None, Verdict.ASK, True)

    def test_says_at_the_cap_only_of_calls_that_need_a_person(self) -> None:
        bench = Bench(max_auto_approvals=1)
        bench.ledger.note_auto_approved("run", "earlier")
        turn = bench.judge(call("read", "a"), call("save", "b"))
        assert [record.at_cap for record in turn.calls] == [False, True]


def typed(name: str) -> StructuredTool:
    def count(n: int) -> str:
        return f"counted to {n}"

    made = StructuredTool.from_function(count, name=name, description="Count.")
    made.metadata = {"toolgate": ToolProfile(tier=Tier.ROUTINE)}
    return made
