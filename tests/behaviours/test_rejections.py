"""Rejections: what the model hears, what is refused from then on, and that nothing turns a no around."""

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from tests.behaviours.answering import give, reject
from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import InMemoryLedger, Surface, Tier, ToolGate, ToolProfile
from toolgate_langchain.vocabulary import Verdict

ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)


class TestWhatTheModelSees:
    def test_with_a_reason_the_model_sees_the_reason(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        talk.answer("reject", message="Ann is on holiday")
        (result,) = [one for one in talk.model.seen[-1] if one.type == "tool"]
        assert "Ann is on holiday" in result.text
        assert "Nothing was executed" in result.text
        assert getattr(result, "status", "") == "error"
        assert ran.runs == []

    def test_without_it_is_told_that_nothing_ran_and_not_to_repeat_it(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "s")))
        talk.answer("reject")
        (result,) = [one for one in talk.model.seen[-1] if one.type == "tool"]
        assert "Nothing was executed" in result.text
        assert "Do not repeat this call" in result.text
        assert ran.runs == []

    def test_through_the_gate_it_is_the_same(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s")))
        assert give(talk, reject(talk.request.request_id, message="no")).status == "accepted"
        assert "The reason: no" in talk.result("s")
        assert ran.runs == []


class TestTheModelRepeatsTheIdenticalCallInThatRun:
    def test_refused_without_a_question_each_time(self, start: Callable[..., Chat], ran: Recorder) -> None:
        again = [says(call("send", f"again{n}", to="ann", n=1)) for n in range(4)]
        talk = start(says(call("send", "s", to="ann", n=1)), *again)
        talk.answer("reject")
        assert talk.requests == []
        for n in range(4):
            assert "rejected exactly this call" in talk.result(f"again{n}")
        assert ran.runs == []

    def test_also_with_its_arguments_in_another_order(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s", to="ann", n=1)), says(call("send", "t", n=1, to="ann")))
        talk.answer("reject")
        assert (talk.requests, ran.runs) == ([], [])

    def test_also_beside_it_in_the_same_turn(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s", n=1), call("send", "t", n=1), call("send", "u", n=2)))
        talk.answer("reject")
        assert talk.request.tool_call_id == "u"
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "exactly this call" in talk.result("t")

    def test_with_changed_arguments_it_is_asked_and_shown_as_a_variant_of_a_call_that_was_rejected(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "s", n=1)), says(call("send", "t", n=2)))
        assert "variant" not in talk.request.description()
        talk.answer("reject")
        assert talk.request.arguments == {"n": 2}
        assert "was rejected in this run; this is a variant of it" in talk.request.description()
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]

    def test_a_variant_is_asked_although_a_rule_would_release_it(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("save", "s", n=1)), says(call("save", "t", n=2)), says(call("save", "u", n=1)))
        talk.answer("approve", remember="arguments")
        talk.answer("reject")
        assert talk.request.tool_call_id == "u"
        assert "variant" in talk.request.description()
        assert ran.runs == [("save", {"n": 1})]

    def test_another_run_may_ask_about_it_anew(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "s", n=1)), says(text="ok"), says(call("send", "t", n=1)))
        talk.answer("reject")
        talk.say("now do it")
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 1})]

    def test_a_tool_that_was_rejected_three_times_is_refused_for_the_rest_of_the_run(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(*[says(call("send", f"s{n}", n=n)) for n in range(4)])
        for _ in range(3):
            talk.answer("reject")
        assert talk.requests == []
        assert "rejected this tool several times" in talk.result("s3")
        assert ran.runs == []


class TestAPersonRejectsThenAPredicateOrARuleWouldAllowOnResume:
    def test_a_predicate(self, ran: Recorder, asynchronous: bool) -> None:
        needed = [True]
        tool = ran.tool(
            "send", ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda arguments: bool(arguments) and needed[0])
        )
        talk = chat(
            [says(call("send", "s", n=1), call("send", "t", n=2)), says(call("send", "u", n=1))],
            [tool],
            asynchronous=asynchronous,
        )
        talk.say()
        talk.answer("reject")
        needed[0] = False
        talk.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "A person rejected" in talk.result("s")
        assert "rejected exactly this call" in talk.result("u")

    def test_a_rule_made_by_the_next_answer(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("save", "s", n=1), call("save", "t", n=2)), says(call("save", "u", n=1)))
        talk.answer("reject")
        talk.answer("approve", remember="tool")
        assert ran.runs == [("save", {"n": 2})]
        assert "A person rejected" in talk.result("s")
        assert "rejected exactly this call" in talk.result("u")

    def test_a_rule_that_was_there(self, start: Callable[..., Chat], ran: Recorder) -> None:
        """Asked in spite of the rule, because the arguments are shown with warnings."""
        talk = start(says(call("save", "r")), says(call("save", "s", text="a\u202eb")))
        talk.answer("approve", remember="tool")
        assert talk.request.warnings
        talk.answer("reject")
        assert ran.runs == [("save", {})]
        assert "A person rejected" in talk.result("s")

    def test_a_gate_that_would_not_even_ask(self, ran: Recorder, asynchronous: bool) -> None:
        saver, ledger = InMemorySaver(), InMemoryLedger()
        strict = ToolGate(ledger=ledger)
        loose = ToolGate(
            surfaces=[Surface("chat", routine=Verdict.ALLOW, consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW)],
            ledger=ledger,
        )
        tools = [ran.tool("send", CONSEQUENTIAL)]
        script = [says(call("send", "s", n=1), call("send", "t", n=2))]
        asked = chat(script, tools, gate=strict, checkpointer=saver, asynchronous=asynchronous)
        asked.say()
        asked.answer("reject")
        resumed = chat([says(call("send", "u", n=1))], tools, gate=loose, checkpointer=saver, asynchronous=asynchronous)
        resumed.answer("approve")
        assert ran.runs == [("send", {"n": 2})]
        assert "A person rejected" in resumed.result("s")
        assert "rejected exactly this call" in resumed.result("u")

    def test_a_heuristic(self, ran: Recorder, asynchronous: bool) -> None:
        def says_yes_to_repeats(call: Mapping[str, Any], _: object) -> bool:
            return bool(call["id"] != "s")

        talk = chat(
            [says(call("send", "s", n=1)), says(call("send", "t", n=1))],
            [ran.tool("send", CONSEQUENTIAL)],
            gate=ToolGate(heuristics=[says_yes_to_repeats]),
            asynchronous=asynchronous,
        )
        talk.say()
        talk.answer("reject")
        assert (ran.runs, talk.requests) == ([], [])
        assert "rejected exactly this call" in talk.result("t")
