"""What is saved with a judged turn and its calls, and what heuristics are not asked about."""

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, field_validator

from tests.approvals.test_judge import RUN, Bench, verdicts
from tests.approvals.test_origins import Reads
from tests.support import Recorder, call
from toolgate_langchain import (
    DataClass,
    InMemoryLedger,
    RemoteServer,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.approvals.heuristics import HeuristicContext
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.approvals.rule_ledger import Said
from toolgate_langchain.approvals.turn import CallRecord
from toolgate_langchain.policy.approval_rule import ApprovalRule
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.policy.context import CallFacts, RunContext, RunMemory
from toolgate_langchain.policy.history import History
from toolgate_langchain.vocabulary import Verdict

FORM = {"type": "object", "properties": {"n": {"type": "integer"}}}


def only(bench: Bench, one: ToolCall, **how: Any) -> CallRecord:
    (record,) = bench.judge(one, **how).calls
    assert isinstance(record, CallRecord)
    return record


def with_tool(name: str, profile: ToolProfile, **gate: Any) -> Bench:
    """A bench with one tool more."""
    bench = Bench(**gate)
    bench.catalog.register(Recorder().tool(name, profile))
    return bench


class TestTheTurn:
    def test_has_random_ids_as_the_gate_draws_them(self) -> None:
        drawn = iter(["for the turn", "for the request"])
        turn = Bench(new_id=lambda: next(drawn)).judge(call("save", "a"))
        assert (turn.turn_id, turn.calls[0].request_id) == ("for the turn", "for the request")

    def test_has_the_same_ids_in_a_replay_of_the_step_that_judges(self) -> None:
        """Where the host says that they are derived, though the turn is not late."""
        bench = Bench()
        first, second = (bench.judge(call("save", "a"), derived=True) for _ in range(2))
        assert (first.turn_id, first.calls[0].request_id) == (second.turn_id, second.calls[0].request_id)

    def test_names_the_ledger_that_it_was_judged_with(self) -> None:
        class Named(InMemoryLedger):
            def identity(self) -> str:
                return "this very one"

        bench = Bench()
        bench.gate = ToolGate(bench.catalog, ledger=Named())
        assert bench.judge(call("save", "a")).ledger == "this very one"

    def test_keeps_how_bad_what_was_read_before_it_was(self) -> None:
        read = History(untrusted=True, data_class=DataClass.SECRET)
        assert Bench().judge(call("save", "a"), history=read).read == read.marks()
        assert Bench().judge(call("save", "a")).read is None

    def test_is_judged_by_what_the_ledger_said_already_where_that_is_handed_in(self) -> None:
        turn = Bench().judge(call("save", "a"), said=Said(stopped=True, memory=RunMemory()), save=True)
        assert [record.code for record in turn.calls] == ["stopped"]

    def test_is_written_into_the_record_where_the_ledger_keeps_one(self) -> None:
        bench, ledger = Bench(), RecordingInMemoryLedger()
        bench.gate = ToolGate(bench.catalog, ledger=ledger)
        record = only(bench, call("save", "a"))
        assert record.request_id in [event.request_id for event in ledger.events()]

    def test_in_which_a_call_was_refused_and_none_released_does_not_count_towards_the_cap(self) -> None:
        """It needed a person, and nobody was there: the reason is that, and not that it was offered wrongly."""
        cron = Surface("cron", attended=False, routine=Verdict.ALLOW)
        bench = Bench()
        bench.catalog = ToolCatalog.from_tools(
            [Recorder().tool("save", ToolProfile(tier=Tier.ROUTINE, requires_approval=True))]
        )
        bench.gate = ToolGate(bench.catalog, [cron], ledger=bench.ledger)
        record = only(bench, call("save", "a"), run=replace(RUN, context=RunContext(cron)))
        assert (record.verdict, record.needs_person, bench.counted) == (Verdict.DENY, True, 0)
        assert record.reason == "nobody is there on surface 'cron': it is marked as requiring approval"

    def test_says_in_the_log_what_a_policy_that_observes_would_have_done(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        Bench(argument_policies=[Reads(observe=True)]).judge(call("read", "a"), history=History())
        assert caplog.messages == ["observed: the flow policy would ask 'read': 'to' was read on a page"]


class TestTheCall:
    def test_keeps_the_answers_that_its_operator_permits(self) -> None:
        bench = Bench(approval_rule=ApprovalRule(asks={"read": ("approve", "reject")}))
        assert only(bench, call("read", "a")).allowed == ("approve", "reject")
        assert only(bench, call("save", "a")).allowed is None

    @pytest.mark.parametrize(("argument", "sensitive"), [("api_key", True), ("pin", True), ("author", False)])
    def test_is_sensitive_by_the_names_of_its_arguments_and_those_of_its_profile(
        self, argument: str, sensitive: bool
    ) -> None:
        bench = with_tool("tell", ToolProfile(tier=Tier.ROUTINE, sensitive=frozenset({"pin"})))
        assert only(bench, call("tell", "a", **{argument: "x"})).sensitive is sensitive

    def test_says_where_validating_twice_gives_something_else_and_so_the_models_own_arguments_run(self) -> None:
        class Grows(BaseModel):
            text: str

            @field_validator("text")
            @classmethod
            def _longer(cls, text: str) -> str:
                return f"{text}!"

        bench = Bench()
        grow = StructuredTool(name="grow", description="Grow.", func=lambda text: text, args_schema=Grows)
        bench.catalog.register(grow, ToolProfile(tier=Tier.ROUTINE))
        record, plain = only(bench, call("grow", "a", text="x")), only(bench, call("save", "b"))
        assert (record.exact, plain.exact) == (False, True)
        assert record.notes == (
            "validating its arguments twice gives different values, so they run as the model wrote them",
        )

    def test_with_arguments_that_do_not_fit_is_refused_and_its_predicate_not_asked(self) -> None:
        bench = Bench()
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        looking = ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda _: True)
        bench.catalog.register(Recorder().tool("count", looking, schema=schema))
        record = only(bench, call("count", "a", n="many"), save=True)
        assert (record.code, record.predicate) == ("invalid_arguments", None)

    def test_says_that_heuristics_were_not_run_where_the_gate_has_none(self) -> None:
        assert not only(Bench(), call("save", "a")).heuristics_run
        assert only(Bench(heuristics=[lambda _, __: False]), call("save", "a")).heuristics_run


class TestNotes:
    def test_say_what_the_operator_says_of_it(self) -> None:
        bench = Bench(describe=lambda one, _: "three people get it" if one["args"] else None)
        assert only(bench, call("save", "a", n=1)).notes == ("its operator says: three people get it",)
        assert only(bench, call("save", "a")).notes == ()

    def test_say_nothing_of_a_preview_that_could_be_told(self) -> None:
        told = with_tool("purge", ToolProfile(tier=Tier.ROUTINE, preview=lambda _: "deletes 3 rows"))
        record = only(told, call("purge", "a"))
        assert record.preview is not None and (record.preview.text, record.notes) == ("deletes 3 rows", ())

    def test_say_what_a_server_changed_of_its_tool_since_it_was_first_registered(self) -> None:
        bench, server = Bench(), RemoteServer("srv", ("run",))
        for words in ("Sends a letter.", "Sends a letter, to all."):
            sends = StructuredTool.from_function(lambda to: to, name="send", description=words, infer_schema=False)
            sends.args_schema = {"type": "object", "properties": {"to": {"type": "string"}}}
            bench.catalog.add_remote(server, [sends])
            notes = only(bench, call("send", "a", to="ann")).notes
            assert any("to all" in note for note in notes) is ("to all" in words)


class TestHeuristics:
    @staticmethod
    def bench(asked: list[str], **more: Any) -> Bench:
        def no(one: ToolCall, _: HeuristicContext) -> bool:
            asked.append(str(one["id"]))
            return False

        return with_tool("fill", ToolProfile(tier=Tier.ROUTINE, input_schema=FORM), heuristics=[no], **more)

    def test_are_not_asked_about_what_they_may_not_release(self) -> None:
        """A variant of a rejected call, input that only a person can give, a call at the cap, one that must be seen."""
        asked: list[str] = []
        bench = self.bench(asked, max_auto_approvals=1)
        assert verdicts(bench.judge(call("fill", "typed"), call("save", "free"))) == [Verdict.ASK, Verdict.ASK]
        assert asked == ["free"]
        bench.ledger.note_rejected("run", "another call", "save", "r")
        assert only(bench, call("save", "variant")).variant
        bench.ledger.note_auto_approved("other run", "earlier")
        assert only(bench, call("save", "at the cap"), run=replace(RUN, id="other run")).at_cap

        def looks(_: ArgumentView) -> PolicyAnswer:
            return PolicyAnswer(Verdict.ASK, "look at it")

        assert only(self.bench(asked, argument_policies=[looks]), call("save", "seen")).must_ask
        assert asked == ["free"]

    def test_see_an_empty_state_where_there_is_none(self) -> None:
        seen: list[HeuristicContext] = []

        def no(_: ToolCall, context: HeuristicContext) -> bool:
            seen.append(context)
            return False

        only(Bench(heuristics=[no]), call("save", "a"))
        assert [(context.state, list(context.messages)) for context in seen] == [({}, [])]

    def test_of_this_gate_keep_their_saved_yes_and_those_that_it_has_no_longer_lose_it(self) -> None:
        def safe(_: ToolCall, __: HeuristicContext) -> bool:
            return True

        def other(_: ToolCall, __: HeuristicContext) -> bool:
            return False

        facts = CallFacts(heuristic="safe", heuristics_run=True)
        assert Bench(heuristics=[other, safe]).gate.judge.still_known(facts) == facts
        assert Bench(heuristics=[other]).gate.judge.still_known(facts) == replace(facts, heuristic=None)
        assert Bench().gate.judge.still_known(CallFacts()) == CallFacts()
