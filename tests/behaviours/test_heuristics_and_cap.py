"""Heuristics that stand in for a person, and the cap on how often they may."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.behaviours.processes import Processes
from tests.support import Chat, Recorder, ScriptedModel, Turn, call, chat, says, with_profile
from toolgate_langchain import InMemoryLedger, Tier, ToolGate, ToolGateMiddleware, ToolProfile, Verdict
from toolgate_langchain.approvals.heuristics import Heuristic, HeuristicContext
from toolgate_langchain.errors import HeuristicError
from toolgate_langchain.hosts.run_state import RULES, RUN, TURN
from toolgate_langchain.policy.arguments import PolicyAnswer

ASKED = ToolProfile(tier=Tier.ROUTINE)
UNASKED = ToolProfile(tier=Tier.READ_ONLY)
OK = AIMessage("ok")


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


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


def yes(_: Any, __: HeuristicContext) -> bool:
    return True


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

    def test_over_a_resume_in_another_process(self, asynchronous: bool, tmp_path: Path) -> None:
        processes = Processes(tmp_path / "thread.db", asynchronous, heuristic=True)
        first = processes.step([("deploy", {"n": 50}, "a"), ("deploy", {"n": 1}, "b"), ("restart", {"n": 60}, "c")])
        assert first["request"]["args"] == {"n": 50}
        assert first["heard"] == [{"n": 50}, {"n": 1}, {"n": 60}]
        second = processes.step(answer={"type": "approve"})
        assert (second["request"]["tool"], second["ran"], second["heard"]) == ("restart", [], [])
        third = processes.step(answer={"type": "reject"})
        assert (third["request"], third["heard"]) == (None, [])
        assert sorted(third["ran"], key=str) == [["deploy", {"n": 1}], ["deploy", {"n": 50}]]


# --- the cap -------------------------------------------------------------------------------------


def capped(
    names: Sequence[str],
    ran: Recorder,
    *,
    cap: int = 2,
    heuristics: Sequence[Heuristic] = (yes,),
    asynchronous: bool = False,
    profiles: dict[str, ToolProfile] | None = None,
    **options: Any,
) -> Chat:
    """A model that calls the tools of these names, one a turn, under a cap."""
    gate = ToolGate(heuristics=list(heuristics), max_auto_approvals=cap, ledger=options.pop("ledger", None))
    tools = [ran.tool(name, (profiles or {}).get(name, ASKED)) for name in dict.fromkeys(names)]
    return chat([says(call(name)) for name in names], tools, gate=gate, asynchronous=asynchronous, **options)


def unasked(talk: Chat) -> str:
    """What the request says of turns that ran unasked."""
    (note,) = [note for note in talk.request.notes if "without anybody being asked" in note]
    return note


class TestCap:
    """Cap 2, a model that calls forever, everything auto-approved."""

    def test_the_calls_of_the_third_turn_are_asked_and_an_approval_frees_two_more(self, asynchronous: bool) -> None:
        """two auto-approved turns; the calls of the third are asked, saying that two turns ran unasked; approved →
        two more are free."""
        ran = Recorder()
        talk = capped(["deploy"] * 6 + ["b", "c", "d"], ran, asynchronous=asynchronous)
        talk.say()
        assert ran.count("deploy") == 2
        assert unasked(talk).startswith("2 turns")
        talk.answer("approve")
        assert ran.count("deploy") == 5
        assert unasked(talk).startswith("2 turns")
        talk.answer("edit", edited_action={"name": "deploy", "args": {"n": 1}})
        assert ran.names[5:] == ["deploy", "b", "c"]
        assert talk.request.tool_name == "d"

    @pytest.mark.parametrize("answer", [{"kind": "reject"}, {"kind": "respond", "message": "not now"}])
    def test_rejected_the_count_stands(self, asynchronous: bool, answer: dict[str, Any]) -> None:
        """rejected → the count stands. A rejection does not start the count again, and a person's text neither."""
        ran = Recorder()
        talk = capped(["a", "b", "c", "d", "e", "f"], ran, asynchronous=asynchronous)
        talk.say()
        for name in ("c", "d"):
            assert talk.request.tool_name == name
            assert unasked(talk).startswith("2 turns")
            talk.answer(**answer)
        assert ran.names == ["a", "b"]
        talk.answer("approve")
        assert ran.names == ["a", "b", "e", "f"]

    def test_all_calls_of_the_turn_at_the_cap_are_asked(self, asynchronous: bool) -> None:
        """At the cap the calls of the next such turn are asked like any other, each of them."""
        ran = Recorder()
        gate = ToolGate(heuristics=[yes], max_auto_approvals=1)
        script = [
            says(call("deploy", n=1), call("deploy", n=2)),
            says(call("deploy", n=3), call("list"), call("deploy", n=4)),
        ]
        talk = chat(
            script, [ran.tool("deploy", ASKED), ran.tool("list", UNASKED)], gate=gate, asynchronous=asynchronous
        )
        talk.say()
        assert ran.count("deploy") == 2
        assert (talk.request.arguments, talk.request.of) == ({"n": 3}, 2)
        assert unasked(talk).startswith("1 turn ran")
        talk.answer("approve")
        assert talk.request.arguments == {"n": 4}
        talk.answer("approve")
        assert sorted(arguments.get("n", 0) for _, arguments in ran.runs) == [0, 1, 2, 3, 4]

    def test_a_new_run_starts_the_count_again(self, asynchronous: bool) -> None:
        """Only a person's approval or edit, or a new run, starts the count again."""
        ran = Recorder()
        talk = capped(["a", "b", "c", "d", "e", "f"], ran, asynchronous=asynchronous)
        talk.say()
        assert talk.request.tool_name == "c"
        talk.say("never mind, go on")
        assert ran.names == ["a", "b", "d", "e"]
        assert talk.request.tool_name == "f"

    def test_a_turn_in_which_somebody_was_asked_does_not_count(self, asynchronous: bool) -> None:
        """What counts is a turn in which at least one call was auto-approved and nobody was asked."""
        ran = Recorder()
        gate = ToolGate(heuristics=[lambda made, _: bool(made["name"] != "hard")], max_auto_approvals=2)
        script = [says(call("a")), says(call("b"), call("hard")), says(call("c")), says(call("d"))]
        tools = [ran.tool(name, ASKED) for name in ("a", "b", "c", "d", "hard")]
        talk = chat(script, tools, gate=gate, asynchronous=asynchronous)
        talk.say()
        assert talk.request.tool_name == "hard"
        talk.answer("reject")
        assert ran.names == ["a", "b", "c"]
        assert talk.request.tool_name == "d"

    def test_a_turn_that_was_only_refused_does_not_count(self, asynchronous: bool) -> None:
        """A turn in which nothing was auto-approved does not count, whatever was refused in it."""
        ran = Recorder()
        gate = ToolGate(
            heuristics=[yes],
            max_auto_approvals=2,
            argument_policies=[lambda view: PolicyAnswer(Verdict.DENY if view.arguments else Verdict.ALLOW)],
        )
        script = [says(call("deploy", n=1))] * 5 + [says(call("deploy"))] * 3
        talk = chat(script, [ran.tool("deploy", ASKED)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert ran.count("deploy") == 2
        assert talk.request.arguments == {}

    def test_a_turn_whose_calls_need_no_approval_does_not_count(self, asynchronous: bool) -> None:
        """A turn whose calls need no approval does not count, neither below the cap nor at it."""
        ran = Recorder()
        names = ["list", "a", "list", "list", "b", "list", "list", "c"]
        talk = capped(names, ran, profiles={"list": UNASKED}, asynchronous=asynchronous)
        talk.say()
        assert ran.names == ["list", "a", "list", "list", "b", "list", "list"]
        assert unasked(talk).startswith("2 turns")

    def test_at_the_cap_a_call_that_a_standing_rule_would_have_released_is_asked_too(self, asynchronous: bool) -> None:
        """At the cap, a call that a standing rule would have released is asked too; turns that a rule released
        count."""
        ran = Recorder()
        talk = capped(["deploy"] * 8, ran, heuristics=(), asynchronous=asynchronous)
        talk.say()
        talk.answer("approve", remember="tool")
        assert ran.count("deploy") == 3
        assert unasked(talk).startswith("2 turns")
        talk.answer("approve")
        assert ran.count("deploy") == 6

    def test_default_is_40(self, asynchronous: bool) -> None:
        """Default is 40."""
        ran = Recorder()
        talk = chat(
            [says(call("deploy"))] * 50,
            [ran.tool("deploy", ASKED)],
            gate=ToolGate(heuristics=[yes]),
            asynchronous=asynchronous,
            agent={},
        )
        talk.agent = talk.agent.with_config(recursion_limit=1_000)
        talk.say()
        assert ran.count("deploy") == 40
        assert unasked(talk).startswith("40 turns")

    @pytest.mark.parametrize("cap", [0, -1, True, 2.0, "3", None])
    def test_anything_but_a_whole_number_of_at_least_1_is_an_error(self, cap: Any) -> None:
        """0 and -1 → `ValueError` naming the argument."""
        with pytest.raises(ValueError, match="max_auto_approvals"):
            ToolGate(max_auto_approvals=cap)


class TestOneRun:
    """A subagent's turns count with the root's; a summary or a subagent's instructions in the state start no new
    run."""

    @staticmethod
    def delegate(gate: ToolGate, script: Sequence[Turn], tools: Sequence[BaseTool], profile: ToolProfile) -> BaseTool:
        """An agent behind the same gate, as a tool."""
        agent = chat(script, tools, gate=gate, checkpointer=None).agent
        agent.checkpointer = None

        def delegate(task: str) -> str:
            """Give a task to the other agent."""
            return str(agent.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

        async def adelegate(task: str) -> str:
            """Give a task to the other agent."""
            return str((await agent.ainvoke({"messages": [HumanMessage(task)]}))["messages"][-1].text)

        return with_profile(StructuredTool.from_function(delegate, coroutine=adelegate), profile)

    @pytest.mark.parametrize(("inner", "outer"), [(1, 1), (2, 0)], ids=["one each", "both in the subagent"])
    def test_a_subagents_turns_count_with_the_roots(self, asynchronous: bool, inner: int, outer: int) -> None:
        ran, gate = Recorder(), ToolGate(heuristics=[yes], max_auto_approvals=2)
        inside = [says(call("inner")) for _ in range(inner)]
        tool = self.delegate(gate, [*inside, AIMessage("did it")], [ran.tool("inner", ASKED)], UNASKED)
        outside = [says(call("outer")) for _ in range(outer + 1)]
        script = [says(call("delegate", "d", task="please")), *outside]
        talk = chat(script, [tool, ran.tool("outer", ASKED)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert talk.result("d") == "did it"
        assert ran.names == ["inner"] * inner + ["outer"] * outer
        assert talk.request.tool_name == "outer"
        assert unasked(talk).startswith("2 turns")

    @pytest.mark.parametrize("profile", [UNASKED, ASKED], ids=["repeatable", "not repeatable"])
    def test_the_roots_turns_count_with_the_subagents(self, asynchronous: bool, profile: ToolProfile) -> None:
        """A subagent's instructions in the state start no new run: its calls are asked at the root's cap, once."""
        ran, gate = Recorder(), ToolGate(heuristics=[yes], max_auto_approvals=2)
        inside = [says(call("inner")), AIMessage("did it")]
        tool = self.delegate(gate, inside, [ran.tool("inner", ASKED)], profile)
        before = [says(call("outer")) for _ in range(2 if profile is UNASKED else 1)]
        script = [*before, says(call("delegate", "d", task="please")), says(call("outer")), OK]
        talk = chat(script, [tool, ran.tool("outer", ASKED)], gate=gate, asynchronous=asynchronous)
        talk.say()
        assert (talk.request.tool_name, talk.request.agent_path) == ("inner", ("delegate",))
        assert unasked(talk).startswith("2 turns")
        assert ran.names == ["outer"] * len(before)
        talk.answer("approve")
        assert talk.result("d") == "did it"
        assert ran.names == ["outer"] * len(before) + ["inner", "outer"]

    def test_a_summary_in_the_state_starts_no_new_run(self, asynchronous: bool) -> None:
        """A summary, which is written as the user's message, starts no new run."""
        ran, gate = Recorder(), ToolGate(heuristics=[yes], max_auto_approvals=2)
        summaries = ScriptedModel(script=[AIMessage("what was said so far")] * 20)
        summary = SummarizationMiddleware(summaries, trigger=("messages", 3), keep=("messages", 1))
        script = [says(call(name)) for name in ("a", "b", "c")]
        talk = chat(
            script,
            [ran.tool(name, ASKED) for name in ("a", "b", "c")],
            gate=gate,
            middleware=[summary, ToolGateMiddleware(gate)],
            asynchronous=asynchronous,
        )
        talk.say()
        assert any("what was said so far" in message.text for message in talk.model.seen[-1])
        assert isinstance(talk.model.seen[-1][0], HumanMessage)
        assert ran.names == ["a", "b"]
        assert talk.request.tool_name == "c"
        assert unasked(talk).startswith("2 turns")
