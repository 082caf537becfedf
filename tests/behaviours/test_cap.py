"""The cap on how many turns may run without anybody being asked."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Chat, Recorder, ScriptedModel, Turn, call, chat, says, with_profile
from toolgate_langchain import Tier, ToolGate, ToolGateMiddleware, ToolProfile, Verdict
from toolgate_langchain.approvals.heuristics import Heuristic, HeuristicContext
from toolgate_langchain.policy.arguments import PolicyAnswer

ASKED = ToolProfile(tier=Tier.ROUTINE)
UNASKED = ToolProfile(tier=Tier.READ_ONLY)
OK = AIMessage("ok")


def yes(_: Any, __: HeuristicContext) -> bool:
    return True


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

    def test_a_turn_whose_predicate_says_no_does_not_count(self, asynchronous: bool) -> None:
        """A turn does not count either where it took a look at the arguments to see that nobody is needed."""
        ran = Recorder()
        by_arguments = ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda _: False)
        talk = capped(["look"] * 4 + ["a", "b", "c"], ran, profiles={"look": by_arguments}, asynchronous=asynchronous)
        talk.say()
        assert ran.names == ["look"] * 4 + ["a", "b"]
        assert talk.request.tool_name == "c"

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
