"""Heuristics, which may stand in for a person: asked in order, once per call, and only where it makes a difference."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from tests.behaviours.processes import Processes
from tests.support import Recorder, call, chat, says
from toolgate_langchain import InMemoryLedger, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.approvals.heuristics import Heuristic, HeuristicContext
from toolgate_langchain.errors import HeuristicError
from toolgate_langchain.hosts.engine.run_state import RULES, RUN, TURN
from toolgate_langchain.policy.arguments import PolicyAnswer

ASKED = ToolProfile(tier=Tier.ROUTINE)
UNASKED = ToolProfile(tier=Tier.READ_ONLY)
OK = AIMessage("ok")


class Heard:
    """Heuristics that note what they are asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def says(self, name: str, answer: Any, *, slow: bool = False) -> Heuristic:
        """A heuristic of this name and answer; `slow` ones are asynchronous, an exception is raised."""

        def judge(call: Any, _: HeuristicContext) -> Any:
            self.asked.append((name, call["name"]))
            if isinstance(answer, Exception):
                raise answer
            return answer

        async def ajudge(call: Any, context: HeuristicContext) -> Any:
            await asyncio.sleep(0)
            return judge(call, context)

        made = ajudge if slow else judge
        made.__name__ = name
        return made


class TestInOrder:
    def test_the_first_yes_wins(self, asynchronous: bool) -> None:
        """First says no, second says yes, third would raise → allowed, third never called."""
        heard, ran = Heard(), Recorder()
        chain = [heard.says("a", False), heard.says("b", True), heard.says("c", ZeroDivisionError())]
        talk = chat(
            [says(call("deploy"))],
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(heuristics=chain),
            asynchronous=asynchronous,
        )
        talk.say()
        assert talk.requests == []
        assert ran.names == ["deploy"]
        assert heard.asked == [("a", "deploy"), ("b", "deploy")]

    @pytest.mark.parametrize("answer", [None, 1, "yes", [True], False, 1.0])
    @pytest.mark.parametrize("slow", [False, True], ids=["plain", "awaitable"])
    def test_only_true_is_a_yes(self, asynchronous: bool, answer: Any, slow: bool) -> None:
        """`None`, `1`, `"yes"` → not a yes."""
        heard, ran = Heard(), Recorder()
        chain = [heard.says("a", answer, slow=slow)]
        talk = chat(
            [says(call("deploy"))],
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(heuristics=chain),
            asynchronous=asynchronous,
        )
        talk.say()
        assert heard.asked == [("a", "deploy")]
        assert talk.request.tool_name == "deploy"
        assert ran.names == []

    @pytest.mark.parametrize("slow", [(False, True, False), (True, False, True)])
    def test_async_and_sync_mix(self, asynchronous: bool, slow: Sequence[bool]) -> None:
        """Async and sync mix."""
        heard, ran = Heard(), Recorder()
        chain = [heard.says(name, name == "c", slow=one) for name, one in zip("abc", slow, strict=True)]
        talk = chat(
            [says(call("deploy"))],
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(heuristics=chain),
            asynchronous=asynchronous,
        )
        talk.say()
        assert [name for name, _ in heard.asked] == ["a", "b", "c"]
        assert ran.names == ["deploy"]

    async def test_an_async_one_under_a_sync_run_inside_a_running_loop(self) -> None:
        """Async and sync mix, also where synchronous code is called inside a running event loop."""
        heard, ran = Heard(), Recorder()
        gate = ToolGate(heuristics=[heard.says("slow", True, slow=True)])
        chat([says(call("deploy"))], [ran.tool("deploy", ASKED)], gate=gate).say()
        assert heard.asked == [("slow", "deploy")]
        assert ran.names == ["deploy"]

    def test_its_yes_counts_for_this_turn_only(self, asynchronous: bool) -> None:
        """Their answer is used in this turn only: the same call in the next turn is judged anew."""
        answers, ran = iter([True, False]), Recorder()
        gate = ToolGate(heuristics=[lambda _, __: next(answers)])
        talk = chat([says(call("deploy"))] * 2, [ran.tool("deploy", ASKED)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert ran.count("deploy") == 1
        assert talk.request.tool_name == "deploy"

    def test_it_sees_the_effective_call_and_where_it_is_made(self, asynchronous: bool) -> None:
        """Each gets the call and a context: profile, surface, caller, messages, state."""
        seen: list[tuple[Any, HeuristicContext]] = []
        ran = Recorder()
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        gate = ToolGate(heuristics=[lambda call, context: seen.append((call, context)) or False])  # type: ignore[func-returns-value]
        talk = chat(
            [says(call("deploy", "d", n=1))],
            [ran.tool("deploy", ASKED, schema=schema)],
            gate=gate,
            asynchronous=asynchronous,
        )
        talk.say("please deploy")
        ((made, context),) = seen
        assert (made["name"], made["args"], made["id"]) == ("deploy", {"n": 1}, "d")
        assert context.entry.profile.tier is Tier.ROUTINE
        assert (context.surface.name, context.caller) == ("chat", None)
        assert [message.text for message in context.messages] == ["please deploy"]
        assert [message.text for message in context.state["messages"]] == ["please deploy"]

    def test_it_cannot_change_what_runs(self, asynchronous: bool) -> None:
        """The context is read-only: what a heuristic does to the call it was shown changes nothing."""

        def meddles(made: Any, _: HeuristicContext) -> bool:
            made["args"]["where"]["host"] = "elsewhere"
            made["args"]["n"] = 2
            made["name"] = "other"
            return True

        ran = Recorder()
        turn = says(call("deploy", n=1, where={"host": "here"}))
        talk = chat([turn], [ran.tool("deploy", ASKED)], gate=ToolGate(heuristics=[meddles]), asynchronous=asynchronous)
        talk.say()
        assert ran.runs == [("deploy", {"n": 1, "where": {"host": "here"}})]
        assert talk.messages[1].tool_calls[0]["args"] == {"n": 1, "where": {"host": "here"}}  # type: ignore[attr-defined]


class TestWhereItIsNotAsked:
    def test_a_standing_rule_matches(self, asynchronous: bool) -> None:
        """A standing rule matches → heuristics are not called."""
        heard, ran = Heard(), Recorder()
        gate = ToolGate(heuristics=[heard.says("no", False)])
        talk = chat([says(call("deploy"))] * 2, [ran.tool("deploy", ASKED)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert len(heard.asked) == 1
        talk.answer("approve", remember="arguments")
        assert ran.count("deploy") == 2
        assert len(heard.asked) == 1

    def test_a_person_must_see_it_or_nobody_is_needed(self, asynchronous: bool) -> None:
        """Not for must-ask, not for a call shown with warnings, not for one that needs nobody or is denied."""
        heard, ran = Heard(), Recorder()
        gate = ToolGate(
            heuristics=[heard.says("yes", True)],
            argument_policies=[
                lambda view: PolicyAnswer(Verdict.ASK if view.arguments.get("look") else Verdict.ALLOW, "look")
            ],
        )
        turn = says(
            call("list"), call("deploy", look=True), call("deploy", to="x\u200b"), call("gone"), call("deploy", "free")
        )
        talk = chat(
            [turn], [ran.tool("list", UNASKED), ran.tool("deploy", ASKED)], gate=gate, asynchronous=asynchronous
        )
        talk.say()
        assert talk.request.of == 2
        assert len(heard.asked) == 1
        talk.answer("reject")
        talk.answer("reject")
        assert sorted(ran.names) == ["deploy", "list"]

    def test_a_variant_of_what_was_rejected(self, asynchronous: bool) -> None:
        """Nor for a call shown as a variant of a rejected one."""
        heard, ran = Heard(), Recorder()

        def small(made: Any, _: HeuristicContext) -> bool:
            heard.asked.append(("small", made["name"]))
            return bool(made["args"]["n"] < 10)

        script = [says(call("deploy", n=50)), says(call("deploy", n=1))]
        talk = chat(script, [ran.tool("deploy", ASKED)], gate=ToolGate(heuristics=[small]), asynchronous=asynchronous)
        talk.say()
        talk.answer("reject")
        assert talk.request.arguments == {"n": 1}
        assert any("variant" in note for note in talk.request.notes)
        assert len(heard.asked) == 1


class TestOneThatRaises:
    """One raises → the run fails with that error as its cause; no tool ran; rules and answers are as before the
    run."""

    @pytest.mark.parametrize("slow", [False, True], ids=["plain", "awaitable"])
    def test_the_run_fails_and_nothing_ran_or_changed(self, asynchronous: bool, slow: bool) -> None:
        cause, heard, ran, ledger = ZeroDivisionError("broken"), Heard(), Recorder(), InMemoryLedger()
        broken = heard.says("broken", cause, slow=slow)
        approving = heard.says("approving", True)

        def after_the_first(made: Any, context: HeuristicContext) -> Any:
            chosen = broken if made["args"].get("n") == 3 else approving if made["args"].get("n") == 2 else None
            return False if chosen is None else chosen(made, context)

        gate = ToolGate(heuristics=[after_the_first], ledger=ledger)
        failing = says(call("list"), call("deploy", n=2), call("deploy", n=3))
        script = [says(call("deploy", n=1)), OK, failing, says(call("deploy", n=1)), OK]
        talk = chat(
            script, [ran.tool("list", UNASKED), ran.tool("deploy", ASKED)], gate=gate, asynchronous=asynchronous
        )
        talk.say()
        request_id = talk.request.request_id
        talk.answer("approve", remember="arguments")
        before = talk.agent.get_state(talk.config).values
        answered = ledger.answer_to(request_id)
        with pytest.raises(HeuristicError, match="after_the_first") as failed:
            talk.say("again")
        assert failed.value.__cause__ is cause
        assert ran.runs == [("deploy", {"n": 1})]
        after = talk.agent.get_state(talk.config).values
        assert after[RULES] == before[RULES]
        assert after.get(TURN, {}) in ({}, before[TURN])
        assert ledger.answer_to(request_id) == answered
        assert ledger.memory(after[RUN]["id"]).auto_approved_turns == 0
        assert isinstance(after["messages"][-1], HumanMessage)
        talk.say("once more")
        assert talk.requests == []
        assert ran.runs == [("deploy", {"n": 1})] * 2


class TestOncePerCall:
    """Heuristics run once per call: count them over a pause, a resume, and a resume in another process."""

    def test_over_a_pause_and_several_resumes(self, asynchronous: bool) -> None:
        heard, ran = Heard(), Recorder()

        def odd(made: Any, _: HeuristicContext) -> bool:
            heard.asked.append(("odd", str(made["args"]["n"])))
            return bool(made["args"]["n"] % 2 == 1)

        turn = says(*[call("deploy", n=n) for n in range(5)])
        talk = chat([turn], [ran.tool("deploy", ASKED)], gate=ToolGate(heuristics=[odd]), asynchronous=asynchronous)
        talk.say()
        for _ in range(2):
            talk.answer("approve")
        talk.resume("nonsense")
        talk.answer("reject")
        assert talk.requests == []
        assert [n for _, n in heard.asked] == ["0", "1", "2", "3", "4"]
        assert sorted(arguments["n"] for _, arguments in ran.runs) == [0, 1, 2, 3]

    def test_over_a_resume_in_another_process(self, tmp_path: Path, asynchronous: bool) -> None:
        processes = Processes(tmp_path / "thread.db", asynchronous=asynchronous, heuristic=True)
        first = processes.step([("deploy", {"n": 50}, "a"), ("deploy", {"n": 1}, "b"), ("restart", {"n": 60}, "c")])
        assert first["request"]["args"] == {"n": 50}
        assert first["heard"] == [{"n": 50}, {"n": 1}, {"n": 60}]
        second = processes.step(answer={"type": "approve"})
        assert (second["request"]["tool"], second["ran"], second["heard"]) == ("restart", [], [])
        third = processes.step(answer={"type": "reject"})
        assert (third["request"], third["heard"]) == (None, [])
        assert sorted(third["ran"], key=str) == [["deploy", {"n": 1}], ["deploy", {"n": 50}]]
