"""The short way of a call that nobody has to be asked about, and whatever is said that keeps a call from it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage

from tests.hosts.looking import SEND, after, look, looking
from tests.support import Recorder, call, chat, says
from toolgate_langchain import (
    InMemoryLedger,
    Surface,
    Tier,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.vocabulary import Verdict


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


class TestTheShortWay:
    @pytest.mark.parametrize(
        ("args", "runs"),
        [({"n": 1}, {"n": 1, "note": "-"}), ({"note": "x", "n": 2}, {"n": 2, "note": "x"})],
    )
    def test_a_call_of_a_read_only_tool_takes_it_and_gets_the_defaults(
        self, ran: Recorder, short: list[bool], asynchronous: bool, args: dict[str, Any], runs: dict[str, Any]
    ) -> None:
        talk = looking(ran, says(call("look", "a", **args)), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([True], [("look", runs)])
        assert talk.result("a") == f"saw {runs['n']} {runs['note']}"

    def test_whoever_traces_tools_sees_the_arguments_that_run(self, ran: Recorder, short: list[bool]) -> None:
        """Defaults included, as a person would be shown them, and not what the model wrote."""
        inputs: list[Any] = []

        class Traces(BaseCallbackHandler):
            def on_tool_start(self, *_: Any, **given: Any) -> None:
                inputs.append(given["inputs"])

        talk = looking(ran, asynchronous=False)
        talk.agent.invoke({"messages": [HumanMessage("go")]}, {**talk.config, "callbacks": [Traces()]})
        assert (short, inputs) == ([True], [{"n": 1, "note": "-"}])

    def test_the_message_of_the_model_stays_as_it_was(self, ran: Recorder, short: list[bool]) -> None:
        talk = looking(ran, asynchronous=False)
        talk.say()
        (message,) = [one for one in talk.messages if getattr(one, "tool_calls", None)]
        assert message.tool_calls[0]["args"] == {"n": 1}  # type: ignore[attr-defined]

    def test_an_idempotent_tool_takes_it_where_its_surface_allows_it(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        gate = ToolGate(surfaces=[Surface("chat", routine=Verdict.ALLOW)])
        for idempotent in (True, False):
            made = look(ran, ToolProfile(tier=Tier.ROUTINE, idempotent=idempotent))
            looking(ran, made=made, gate=gate, asynchronous=asynchronous).say()
        assert (short, ran.count("look")) == ([True, False], 2)

    def test_a_tool_that_fails_fails_as_it_would_without_the_gate(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        def fails(n: int) -> str:
            raise OSError(f"no file {n}")

        talk = looking(ran, made=look(ran, does=fails), asynchronous=asynchronous)
        with pytest.raises(OSError, match="no file 1"):
            talk.say()
        assert short == [True]


class TestArguments:
    @pytest.mark.parametrize("args", [{"n": "1"}, {"n": 1.0}, {"n": 1, "note": "é"}, {"n": 1, "more": 2}])
    def test_arguments_that_validation_could_change_take_the_long_way_and_run(
        self, ran: Recorder, short: list[bool], asynchronous: bool, args: dict[str, Any]
    ) -> None:
        looking(ran, says(call("look", "a", **args)), asynchronous=asynchronous).say()
        assert (short, ran.runs) == ([False], [("look", {"n": 1, "note": args.get("note", "-")})])

    @pytest.mark.parametrize("args", [{}, {"n": "one"}, {"n": None}, {"n": 1, "note": 5}])
    def test_arguments_that_do_not_fit_are_refused(
        self, ran: Recorder, short: list[bool], asynchronous: bool, args: dict[str, Any]
    ) -> None:
        talk = looking(ran, says(call("look", "a", **args)), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([False], [])
        assert "arguments are not valid" in talk.result("a")

    def test_a_tool_that_the_agent_does_not_have_is_refused(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        talk = looking(ran, says(call("Look", "a", n=1)), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([False], [])
        assert "There is no such tool" in talk.result("a")


class TestWhatWasSaid:
    @pytest.mark.parametrize(
        "answer",
        [
            {"kind": "reject"},
            {"kind": "approve", "remember": "arguments"},
            {"kind": "approve", "remember": {"what": "arguments", "scope": "run"}},
            {"kind": "reject", "remember": "arguments"},
            {"kind": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}},
            {"kind": "approve"},
        ],
        ids=["a rejection", "an allow", "an allow in this run", "a deny", "a replaced call", "an approval"],
    )
    def test_whatever_a_person_said_in_the_run_keeps_later_calls_from_it(
        self, ran: Recorder, short: list[bool], asynchronous: bool, answer: dict[str, Any]
    ) -> None:
        """Also calls beside the one that was asked about, which are in its turn."""
        script = [
            says(call("look", n=0)),
            says(call("send", to="ann"), call("look", n=1)),
            says(call("look", n=2)),
        ]
        talk = looking(ran, *script, asynchronous=asynchronous)
        talk.say()
        assert short == [True]
        talk.answer(**answer)
        assert short[1:] == [False] * 3
        assert sorted(args["n"] for name, args in ran.runs if name == "look") == [0, 1, 2]

    def test_a_rule_of_the_thread_keeps_calls_of_later_runs_from_it_and_a_new_thread_is_free(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        script = [says(call("send", to="ann")), says(), says(call("look", n=1)), says(), says(call("look", n=2))]
        talk = looking(ran, *script, asynchronous=asynchronous)
        talk.taught()
        talk.say()
        assert short == [False, False]
        talk.thread = "another"
        talk.say()
        assert short == [False, False, True]

    def test_what_was_said_in_a_run_alone_keeps_no_call_of_the_next(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        script = [says(call("send", to="ann")), says(), says(call("look", n=1))]
        talk = looking(ran, *script, asynchronous=asynchronous)
        talk.say()
        talk.answer("reject")
        talk.say()
        assert short[-1] is True


@pytest.mark.parametrize("thread", ["thread", ""])
def test_a_ledger_is_quiet_until_something_is_noted_of_the_run_or_the_thread(thread: str) -> None:
    ledger = InMemoryLedger()
    assert ledger.quiet("run", thread) is True
    assert ledger.quiet("run", None) is True
    ledger.stop()
    assert ledger.quiet("run", thread) is False
    ledger.resume()
    talk = chat([says(call("send"))], [Recorder().tool("send", SEND)])
    (rule,) = talk.taught().rules
    ledger.add_thread_rule(thread, rule)
    assert ledger.quiet("run", thread) is False
    assert (ledger.quiet("run", "other"), ledger.quiet("run", None)) == (True, True)
    ledger.drop_thread_rules(thread, [rule])
    assert ledger.quiet("run", thread) is True
    ledger.note_change("run", "look", "changed")
    assert (ledger.quiet("run", thread), ledger.quiet("other", thread)) == (False, True)


class TestTheOperator:
    @pytest.mark.parametrize(("verdict", "runs"), [(Verdict.ALLOW, 1), (Verdict.DENY, 0)])
    def test_an_argument_policy_sees_every_call(
        self, ran: Recorder, short: list[bool], asynchronous: bool, verdict: Verdict, runs: int
    ) -> None:
        gate = ToolGate(argument_policies=[lambda _: PolicyAnswer(verdict)])
        looking(ran, gate=gate, asynchronous=asynchronous).say()
        assert (short, ran.count("look")) == ([False], runs)

    def test_a_listener_hears_every_call_with_the_arguments_that_run_and_cannot_change_them(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        heard: list[tuple[str, dict[str, Any], str]] = []

        def listens(outcome: CallOutcome) -> None:
            heard.append((outcome.name, dict(outcome.arguments), outcome.code))
            outcome.arguments["n"] = 666  # type: ignore[index]

        talk = looking(ran, gate=ToolGate(on_decision=listens), asynchronous=asynchronous)
        talk.say()
        assert (short, heard) == ([False], [("look", {"n": 1, "note": "-"}, "not_required")])
        assert ran.runs == [("look", {"n": 1, "note": "-"})]

    def test_a_listener_that_comes_while_the_agent_runs_hears_the_next_call(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        heard: list[CallOutcome] = []
        gate = ToolGate()

        def listen(_: Any) -> None:
            gate.on_decision = heard.append

        after(ran, listen, gate=gate, asynchronous=asynchronous).say()
        assert (short, [outcome.name for outcome in heard]) == ([False], ["look"])

    def test_releases_that_are_stopped_between_the_model_and_the_tool_are_stopped(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        ledger = InMemoryLedger()
        talk = after(ran, lambda _: ledger.stop(), gate=ToolGate(ledger=ledger), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([False], [])
        assert "was not executed" in talk.result("a")


class NotForReleasing:
    """Neither yes nor no, and true all the same."""

    def __bool__(self) -> bool:
        return True


class Later:
    """What must be awaited, and is not."""

    def __await__(self) -> Any:
        yield
        return True


class StoppedAndSays(InMemoryLedger):
    """A ledger whose releases are stopped, and which says something else when it is asked whether all is quiet."""

    def __init__(self, said: Any) -> None:
        super().__init__()
        self._whether = said
        self.stop()

    def quiet(self, run_id: str, thread_id: str | None, caller_id: str | None = None) -> Any:
        if isinstance(self._whether, Exception):
            raise self._whether
        return self._whether


class TestOtherLedgers:
    @pytest.mark.parametrize(
        "said", [False, None, 1, "yes", NotForReleasing(), Later()], ids=lambda said: type(said).__name__
    )
    def test_whatever_is_not_exactly_true_is_not_quiet(
        self, ran: Recorder, short: list[bool], asynchronous: bool, said: Any
    ) -> None:
        talk = looking(ran, gate=ToolGate(ledger=StoppedAndSays(said)), asynchronous=asynchronous)
        talk.say()
        assert (short, ran.runs) == ([False], [])
        assert "was not executed" in talk.result("a")

    def test_a_ledger_that_cannot_tell_fails_the_run_and_nothing_runs(
        self, ran: Recorder, short: list[bool], asynchronous: bool
    ) -> None:
        talk = looking(ran, gate=ToolGate(ledger=StoppedAndSays(OSError("gone"))), asynchronous=asynchronous)
        with pytest.raises(OSError, match="gone"):
            talk.say()
        assert (short, ran.runs) == ([], [])

    def test_a_ledger_that_says_true_is_believed(self, ran: Recorder, short: list[bool], asynchronous: bool) -> None:
        """The control: what is said here is what releases the call."""
        looking(ran, gate=ToolGate(ledger=StoppedAndSays(True)), asynchronous=asynchronous).say()
        assert (short, ran.count("look")) == ([True], 1)
