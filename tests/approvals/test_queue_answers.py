"""What an answer does to its own call and to the siblings of that call, and what it must never do."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.approvals.test_queue import RUN, Desk, outcomes
from tests.support import Clock, Recorder, call
from toolgate_langchain import Caller, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.approvals.attempts import CallStart
from toolgate_langchain.approvals.ledger import AnswerStatus, GrantStatus, StartStatus
from toolgate_langchain.approvals.queue import ApprovalQueue
from toolgate_langchain.approvals.rules import RuleIndex
from toolgate_langchain.approvals.steps import run_steps
from toolgate_langchain.approvals.turn import TurnRecord
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.vocabulary import Verdict


def desk_with(**only_a_person: Any) -> Desk:
    """Two calls of one tool, the second one saved with something that only a person may release."""
    desk = Desk(call("save", "a", n=1), call("save", "b", n=2))
    desk.saved["calls"][1] |= only_a_person
    return desk


class TestASiblingIsCleared:
    def test_by_dont_ask_again_and_says_so(self) -> None:
        desk = desk_with()
        turn = desk.replay(desk.yes("a", remember="tool", by="ann"))
        assert outcomes(turn) == ["approved", "released"]
        second = desk.turn.call("b")
        assert second is not None
        assert (second.code, second.layer) == ("standing_rule", "standing allows")
        assert second.reason.startswith("standing rule for any call of it by ann")
        assert desk.ledger.status(second.request_id) is None

    def test_for_the_caller_for_whom_the_run_runs(self) -> None:
        desk = desk_with()
        turn = TurnRecord.from_json(desk.saved)
        assert turn is not None
        run = replace(RUN, context=replace(RUN.context, caller=Caller("ann")))
        queue = ApprovalQueue(desk.gate.judge, run, turn, desk.calls, desk.catalog.get, "strict")
        given = iter([desk.yes("a", remember="tool")])
        run_steps(queue.ask_all(lambda _: next(given)))
        assert outcomes(turn) == ["approved", "released"]
        assert [rule.caller for rule in queue.new_rules] == ["ann"]

    @pytest.mark.parametrize(
        "only_a_person",
        [{"must_ask": True}, {"warnings": ["hidden"]}, {"variant": True}, {"at_cap": True}, {"code": "input_required"}],
        ids=repr,
    )
    def test_but_not_where_only_a_person_may_release_it(self, only_a_person: dict[str, Any]) -> None:
        desk = desk_with(**only_a_person)
        assert desk.replay(desk.yes("a", remember="tool")) == "b"

    def test_but_not_by_a_memory_that_ran_out_before_a_later_one_was_made(self) -> None:
        """The time is that of the last memory, in every replay the same."""
        desk, clock = Desk(call("save", "a", n=1), call("send", "b"), call("save", "c", n=2)), Clock()
        desk.gate = ToolGate(desk.catalog, ledger=desk.ledger, clock=clock)
        first = desk.yes("a", remember={"what": "tool", "expires_in": 60})
        assert desk.replay(first) == "b"
        clock.forward(seconds=61)
        assert desk.replay(first, desk.yes("b", remember="arguments")) == "c"

    def test_and_not_by_exactly_this_where_it_is_another(self) -> None:
        desk = desk_with()
        assert desk.replay(desk.yes("a", remember="arguments")) == "b"


class TestASiblingIsRefused:
    def test_where_it_is_the_very_call_that_was_rejected(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=1), call("send", "c", n=2))
        turn = desk.replay(desk.no("a"), desk.yes("c"))
        assert outcomes(turn) == ["rejected", "refused", "approved"]
        second = desk.turn.call("b")
        assert second is not None
        assert (second.code, second.reason) == ("rejected", "a person rejected this very call in this turn")

    def test_also_where_only_a_person_may_release_it(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=1))
        desk.saved["calls"][1] |= {"must_ask": True, "warnings": ["hidden"]}
        assert outcomes(desk.replay(desk.no("a"))) == ["rejected", "refused"]

    def test_and_the_same_arguments_of_another_tool_are_another_call(self) -> None:
        desk = Desk(call("send", "a", n=1), call("save", "b", n=1))
        assert desk.replay(desk.no("a")) == "b"


class TestTakingAnEarlierApprovalBack:
    def test_it_takes_back_the_call_that_it_names_and_no_other(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2), call("send", "c", n=3))
        answers = [desk.yes("a"), desk.yes("b"), desk.no("b", message="not that one")]
        assert desk.replay(*answers) == "c"
        assert desk.questions[-1]["toolgate"]["error"] == (
            "The approval of send was taken back. This request still waits for its own answer."
        )
        assert outcomes(desk.replay(*answers, desk.yes("c"))) == ["approved", "rejected", "approved"]
        second = desk.turn.call("b")
        assert second is not None
        assert (second.code, second.message) == ("rejected", "not that one")

    @pytest.mark.parametrize(("first", "second"), [("yes", "yes"), ("no", "yes"), ("no", "no")])
    def test_whatever_else_names_an_earlier_request_changes_nothing(self, first: str, second: str) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        said = getattr(desk, first)("a", by="ann")
        again = getattr(desk, second)("a", by="ben")
        assert desk.replay(said, again) == "b"
        assert "was already answered; this is request" in desk.questions[-1]["toolgate"]["error"]
        assert outcomes(desk.replay(said, again, desk.yes("b")))[0] == ("approved" if first == "yes" else "rejected")
        assert desk.turn.calls[0].by == "ann"

    def test_once(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        assert desk.replay(desk.yes("a"), desk.no("a"), desk.no("a")) == "b"
        assert "was already answered" in desk.questions[-1]["toolgate"]["error"]

    def test_an_id_of_any_length_is_named_in_part(self) -> None:
        desk = Desk(call("send", "a", n=1))
        desk.replay({"type": "approve", "request_id": "x" * 10_000})
        assert desk.questions[-1]["toolgate"]["error"].startswith(f"Request {'x' * 64} is not pending; ")


class TestAReplayAfterTheLedgerHasAnAnswer:
    """An answer that was recorded holds; another one to the same request is not taken in its place."""

    def test_an_approval_is_not_turned_into_an_edit(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        assert desk.replay(desk.yes("a")) == "b"
        edit = {"type": "edit", "edited_action": {"name": "send", "args": {"n": 9}}}
        assert desk.replay({**edit, "request_id": desk.request_id("a")}) == "a"
        assert "answered before, with 'approve', and that answer holds" in desk.questions[-1]["toolgate"]["error"]
        assert desk.replay(desk.yes("a")) == "b"

    def test_a_no_is_taken_whenever_it_comes(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        assert desk.replay(desk.yes("a")) == "b"
        assert outcomes(desk.replay(desk.no("a"), desk.yes("b"))) == ["rejected", "approved"]

    def test_one_that_was_taken_back_elsewhere_asks_the_same_and_leaves_neither_rule_nor_grant(self) -> None:
        desk = Desk(call("save", "a", n=1), call("save", "b", n=2), call("send", "c"))
        yes = desk.yes("a", remember="tool")
        assert desk.replay(yes) == "c"
        assert len(desk.ledger.thread_rules("thread")) == 1
        desk.ledger.answer(desk.request_id("a"), read_answer(desk.no("a")))
        assert desk.replay(yes) == "c"
        assert list(desk.ledger.thread_rules("thread")) == []
        turn = desk.replay(yes, desk.yes("c"))
        assert outcomes(turn)[0] == "rejected"
        assert list(desk.ledger.thread_rules("thread")) == []
        assert desk.ledger.status(desk.request_id("a")) is None

    def test_an_answer_without_an_id_is_recorded_with_the_id_of_what_it_answered(self) -> None:
        desk = Desk(call("send", "a", n=1), mode="lenient")
        outcomes(desk.replay({"type": "approve"}))
        held = desk.ledger.answer_to(desk.request_id("a"))
        assert held is not None
        assert held.request_id == desk.request_id("a")


class TestWhatIsNotOffered:
    def test_cannot_be_remembered_with_a_yes_and_what_is_offered_is_named(self) -> None:
        desk = Desk(call("send", "a", n=1))
        assert desk.replay(desk.yes("a", remember="tool")) == "a"
        assert "tool (thread) is not offered here; offered: arguments (run), arguments (thread)." in str(
            desk.questions[-1]["message"]
        )
        desk.saved["calls"][0]["memory"] = "never"
        assert desk.replay(desk.yes("a", remember="arguments")) == "a"
        assert "arguments (thread) is not offered here; offered: nothing." in str(desk.questions[-1]["message"])

    @pytest.mark.parametrize("what", ["arguments", "tool"])
    @pytest.mark.parametrize("scope", ["run", "thread"])
    def test_can_be_forbidden_with_a_no(self, what: str, scope: str) -> None:
        desk = Desk(call("send", "a", n=1))
        desk.saved["calls"][0]["memory"] = "never"
        turn = desk.replay(desk.no("a", remember={"what": what, "scope": scope}, by="ann"))
        assert outcomes(turn) == ["rejected"]
        (rule,) = desk.ledger.thread_rules("thread")
        assert (rule.effect, rule.scope, rule.arguments) == ("deny", scope, {"n": 1} if what == "arguments" else None)
        assert (rule.run_id, rule.created_by) == ("run" if scope == "run" else None, "ann")
        assert (desk.turn.calls[0].by, desk.turn.calls[0].reason) == ("ann", "a person rejected it")


def test_whoever_answered_and_when_is_kept_with_the_call_and_its_answer() -> None:
    desk = Desk(call("send", "a", n=1))
    outcomes(desk.replay(desk.yes("a", by="ann")))
    record = desk.turn.calls[0]
    assert (record.by, record.code, record.reason) == ("ann", "approved", "a person approved it")
    assert desk.ledger.answered_at(record.request_id) is not None
    assert desk.ledger.thread_of(record.request_id) == "thread"


class TestARuleOfAnApprovalThatIsTakenBack:
    def test_goes_and_the_rules_of_others_stay(self) -> None:
        desk = Desk(call("save", "a", n=1), call("save", "b", n=2), call("send", "c"), call("save", "d", n=1))
        yes = [desk.yes(one, remember="arguments") for one in ("a", "b")]
        assert desk.replay(*yes, desk.no("a")) == "c"
        assert [rule.arguments for rule in desk.ledger.thread_rules("thread")] == [{"n": 2}]
        turn = desk.replay(*yes, desk.no("a"), desk.yes("c"))
        assert outcomes(turn) == ["rejected", "approved", "approved", "refused"]


class TestAnEditIsANewCall:
    """Judged from the start as soon as it is given: a deny wins, and there is no second question."""

    def desk(self) -> Desk:
        def small(view: ArgumentView) -> PolicyAnswer:
            verdict = Verdict.DENY if view.arguments.get("n", 0) > 5 else Verdict.ALLOW
            return PolicyAnswer(verdict, "too large")

        desk = Desk(call("send", "a", n=1))
        desk.gate = ToolGate(desk.catalog, ledger=desk.ledger, argument_policies=[small])
        return desk

    def edit(self, desk: Desk, n: int) -> dict[str, Any]:
        action = {"name": "send", "args": {"n": n}}
        return {"type": "edit", "request_id": desk.request_id("a"), "edited_action": action}

    def test_arguments_that_a_policy_denies_are_refused_with_its_words_and_get_no_grant(self) -> None:
        desk = self.desk()
        assert outcomes(desk.replay(self.edit(desk, 6))) == ["refused"]
        record = desk.turn.calls[0]
        assert (record.code, record.reason) == ("argument_policy", "small: too large")
        assert desk.ledger.status(record.request_id) is None

    def test_others_are_bound_to_their_arguments_and_the_original_is_replaced(self) -> None:
        desk = self.desk()
        asked = desk.turn.calls[0].digest
        assert outcomes(desk.replay(self.edit(desk, 5))) == ["edited"]
        record = desk.turn.calls[0]
        assert (record.arguments, record.reason) == ({"n": 5}, "a person replaced its arguments")
        assert record.digest not in ("", asked)
        assert len(desk.ledger.memory("run").replaced) == 1

    def test_one_that_changes_nothing_is_an_approval(self) -> None:
        desk = self.desk()
        asked = desk.turn.calls[0].digest
        assert outcomes(desk.replay(self.edit(desk, 1))) == ["approved"]
        assert desk.turn.calls[0].digest == asked
        assert desk.ledger.memory("run").replaced == frozenset()

    def test_in_a_process_that_has_not_met_a_tool_of_which_no_schema_was_saved(self) -> None:
        desk = self.desk()
        desk.saved["calls"][0].pop("args_schema")
        assert outcomes(desk.replay(self.edit(desk, 5), known=False)) == ["edited"]


def test_what_a_person_fills_in_is_an_approval_and_replaces_nothing() -> None:
    form = {"type": "object", "properties": {"city": {"type": "string"}}}
    desk = Desk(call("send", "a", n=1))
    desk.catalog = ToolCatalog.from_tools([Recorder().tool("send", ToolProfile(input_schema=form))])
    desk.gate = ToolGate(desk.catalog, ledger=desk.ledger)
    turn = run_steps(desk.gate.judge.judge(RUN, "m", desk.calls, desk.catalog.get, RuleIndex()))
    assert turn is not None
    desk.saved, desk.turn = turn.to_json(), turn
    assert outcomes(desk.replay(desk.yes("a", input={"city": "Berlin", "n": 7}))) == ["approved"]
    record = desk.turn.calls[0]
    assert (record.arguments, record.reason) == ({"n": 1, "city": "Berlin"}, "a person filled in its input")
    assert desk.ledger.memory("run").replaced == frozenset()


class TestWhatIsGranted:
    def test_an_edit_is_granted_as_an_approval_is(self) -> None:
        desk = Desk(call("send", "a", n=1))
        edit = {"type": "edit", "edited_action": {"name": "send", "args": {"n": 2}}}
        outcomes(desk.replay({**edit, "request_id": desk.request_id("a")}))
        assert desk.ledger.status(desk.request_id("a")) is GrantStatus.ISSUED

    def test_a_text_in_place_of_the_result_is_the_end_and_a_rejection_comes_too_late(self) -> None:
        desk = Desk(call("send", "a", n=1))
        respond = {"type": "respond", "message": "not needed", "request_id": desk.request_id("a")}
        assert outcomes(desk.replay(respond)) == ["responded"]
        assert desk.turn.calls[0].message == "not needed"
        assert desk.ledger.status(desk.request_id("a")) is GrantStatus.FINISHED
        assert desk.ledger.answer(desk.request_id("a"), read_answer(desk.no("a"))) is AnswerStatus.TOO_LATE
        record = desk.turn.calls[0]
        assert desk.ledger.start(CallStart(record.request_id, record.digest, needs_grant=True, repeatable=False)) is (
            StartStatus.USED
        )

    def test_a_no_that_came_before_the_turn_was_settled_holds(self) -> None:
        desk = Desk(call("send", "a", n=1), call("send", "b", n=2))
        assert desk.replay(desk.yes("a")) == "b"
        desk.ledger.answer(desk.request_id("a"), read_answer(desk.no("a", message="stop")))
        assert outcomes(desk.replay(desk.yes("a"), desk.yes("b"))) == ["rejected", "approved"]
        assert desk.turn.calls[0].message == "stop"
        assert desk.ledger.status(desk.request_id("a")) is None


class TestTheRuleThatIsMade:
    def test_is_of_the_recorded_call(self) -> None:
        desk = Desk(call("save", "a", n=1))
        desk.saved["calls"][0] |= {"origin": "server:a", "fingerprint": "f", "tier": None}
        outcomes(desk.replay(desk.yes("a", remember={"what": "arguments", "expires_in": 60}, by="ann")))
        (rule,) = desk.ledger.thread_rules("thread")
        assert (rule.tool_name, rule.arguments, rule.effect) == ("save", {"n": 1}, "allow")
        assert (rule.origin, rule.fingerprint, rule.tier) == ("server:a", "f", None)
        assert (rule.surface, rule.agent_path, rule.run_id, rule.scope) == ("chat", (), None, "thread")
        assert (rule.created_by, rule.request_id) == ("ann", desk.request_id("a"))
        assert rule.expires_at == rule.created_at + timedelta(seconds=60)
