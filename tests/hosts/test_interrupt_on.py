"""LangChain's configuration of approvals does the same here, except where this is stricter on purpose.

Every conversation runs twice: behind `HumanInTheLoopMiddleware` and behind
`ToolGateMiddleware.from_interrupt_on`, with the same script, the same tools and the same answers.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from tests.support import Chat, Recorder, ScriptedModel, Turn, call, chat, says
from toolgate_langchain import ApprovalRule, Surface, Tier, ToolGateMiddleware, ToolProfile
from toolgate_langchain.errors import ConfigurationError, HeuristicError

APPROVE: dict[str, Any] = {"type": "approve"}
REJECT: dict[str, Any] = {"type": "reject", "message": "not to her"}
RESPOND: dict[str, Any] = {"type": "respond", "message": "I wrote to her myself"}


class Mail(BaseModel):
    to: str


def edit(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def tools(ran: Recorder, **profiles: ToolProfile) -> list[Any]:
    return [ran.tool(name, profiles.get(name), schema=Mail) for name in ("send", "save", "read")]


@dataclass
class Told:
    """What came of a conversation."""

    ran: list[tuple[str, dict[str, Any]]]
    asked: list[tuple[str, dict[str, Any], frozenset[str]]]
    """Each call that a person was asked about, with the answers that were possible."""
    results: dict[str, ToolMessage]

    @property
    def statuses(self) -> dict[str, str]:
        return {call_id: result.status for call_id, result in self.results.items()}


def drive_through(middleware: Any, script: Sequence[Turn], answers: Sequence[Any], *, asynchronous: bool) -> Told:
    """Run a conversation, answering all calls that one interrupt asks about at once, in their order."""
    ran, config = Recorder(), {"configurable": {"thread_id": "t"}}
    model = ScriptedModel(script=list(script))
    agent: Any = create_agent(model, tools(ran), middleware=[middleware], checkpointer=InMemorySaver())

    def invoke(value: Any) -> None:
        if asynchronous:
            asyncio.run(agent.ainvoke(value, config))
        else:
            agent.invoke(value, config)

    asked, left = [], list(answers)
    invoke({"messages": [HumanMessage("go")]})
    while interrupts := agent.get_state(config).interrupts:
        (value,) = [one.value for one in interrupts]
        for action, review in zip(value["action_requests"], value["review_configs"], strict=True):
            asked.append((action["name"], action["args"], frozenset(review["allowed_decisions"])))
        now, left = left[: len(value["action_requests"])], left[len(value["action_requests"]) :]
        invoke(Command(resume={"decisions": now}))
    assert left == []
    messages = agent.get_state(config).values["messages"]
    results = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    return Told(ran.runs, asked, results)


def both(
    interrupt_on: Mapping[str, Any], script: Sequence[Turn], answers: Sequence[Any], *, asynchronous: bool
) -> tuple[Told, Told]:
    theirs = HumanInTheLoopMiddleware(dict(interrupt_on))
    ours = ToolGateMiddleware.from_interrupt_on(interrupt_on, answers="lenient")
    return (
        drive_through(theirs, script, answers, asynchronous=asynchronous),
        drive_through(ours, script, answers, asynchronous=asynchronous),
    )


ALL_THREE = [says(call("send", "a", to="ann"), call("save", "b", to="bob"), call("read", "c", to="cid"))]
ONE = [says(call("send", "a", to="ann"))]

SAME: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "True, approved": ({"send": True}, ONE, [APPROVE]),
    "True, rejected with a reason": ({"send": True}, ONE, [REJECT]),
    "True, rejected without one": ({"send": True}, ONE, [{"type": "reject"}]),
    "True, answered by hand": ({"send": True}, ONE, [RESPOND]),
    "True, edited": ({"send": True}, ONE, [edit("send", to="eve")]),
    "False": ({"send": False}, ONE, []),
    "only some answers": ({"send": {"allowed_decisions": ["approve", "reject"]}}, ONE, [REJECT]),
    "one answer": ({"send": {"allowed_decisions": ["respond"]}}, ONE, [RESPOND]),
    "several calls in one turn": (
        {"send": True, "save": {"allowed_decisions": ["reject", "approve"]}, "read": False},
        ALL_THREE,
        [APPROVE, REJECT],
    ),
    "the same tool twice in one turn": (
        {"send": True},
        [says(call("send", "a", to="ann"), call("send", "b", to="bob"))],
        [REJECT, APPROVE],
    ),
    "turn after turn": (
        {"send": True, "read": False},
        [*ONE, says(call("read", "c", to="cid")), says(call("send", "d", to="dan"))],
        [APPROVE, edit("send", to="eve")],
    ),
    "when": (
        {"send": {"allowed_decisions": ["approve"], "when": lambda request: request.tool_call["args"]["to"] == "bob"}},
        [says(call("send", "a", to="ann"), call("send", "b", to="bob"))],
        [APPROVE],
    ),
    "when, looking at the conversation": (
        {
            "send": {
                "allowed_decisions": ["approve"],
                "when": lambda request: request.state["messages"][0].content != "go",
            }
        },
        ONE,
        [],
    ),
}


@cache
def compared(case: str, asynchronous: bool) -> tuple[Told, Told]:
    """What LangChain's own middleware made of a case, and what ours made of it; nobody changes either."""
    return both(*SAME[case], asynchronous=asynchronous)


@pytest.mark.parametrize("case", SAME)
class TestTheSameConfiguration:
    def test_runs_the_same_calls_after_the_same_questions(self, case: str, asynchronous: bool) -> None:
        theirs, ours = compared(case, asynchronous)
        assert ours.asked == theirs.asked
        # The calls of one turn run at once, in either order.
        assert sorted(ours.ran, key=repr) == sorted(theirs.ran, key=repr)
        assert ours.statuses == theirs.statuses

    def test_tells_the_model_the_same(self, case: str, asynchronous: bool) -> None:
        _, _, answers = SAME[case]
        theirs, ours = compared(case, asynchronous)
        edited = any(answer["type"] == "edit" for answer in answers)
        for call_id, result in theirs.results.items():
            mine = str(ours.results[call_id].content)
            if result.status == "success" and str(result.content).startswith("ran "):
                assert mine == result.content  # what a tool returned is not touched
            elif edited:
                assert mine.endswith("ran send") and str(result.content).endswith("ran send")
                assert "eve" in mine
            for said in ("not to her", "I wrote to her myself"):
                # What a person said reaches the model, marked as a person's.
                assert (said in mine) is (said in str(result.content))
                assert said not in mine or "person" in mine


def gated(ran: Recorder, interrupt_on: Any, *script: Turn, profiles: Any = None, **options: Any) -> Chat:
    middleware = ToolGateMiddleware.from_interrupt_on(interrupt_on, **options)
    talk = chat(script, tools(ran, **(profiles or {})), gate=middleware.gate, middleware=[middleware])
    talk.say()
    return talk


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


class TestStricterOnPurpose:
    def test_a_tool_that_is_not_listed_is_judged_as_by_default(self, ran: Recorder) -> None:
        theirs = drive_through(HumanInTheLoopMiddleware({"save": True}), ONE, [], asynchronous=False)
        assert theirs.ran == [("send", {"to": "ann"})]
        assert gated(ran, {"save": True}, *ONE).request.tool_name == "send"
        harmless = {"send": ToolProfile(tier=Tier.READ_ONLY)}
        assert gated(Recorder(), {"save": True}, *ONE, profiles=harmless).requests == []

    @pytest.mark.parametrize(
        "profile",
        [
            ToolProfile(tier=Tier.READ_ONLY, requires_approval=True),
            ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda arguments: True),
        ],
        ids=["marker", "predicate"],
    )
    def test_false_does_not_lift_what_the_tool_says_of_itself(self, ran: Recorder, profile: ToolProfile) -> None:
        assert gated(ran, {"send": False}, *ONE, profiles={"send": profile}).request.tool_name == "send"

    @pytest.mark.parametrize(
        "exempt", [False, {"allowed_decisions": ["approve"], "when": lambda request: False}], ids=["False", "when"]
    )
    def test_what_the_configuration_exempts_counts_towards_the_cap(self, ran: Recorder, exempt: Any) -> None:
        turns = [says(call("send", name, to=name)) for name in ("ann", "bob", "cid")]
        talk = gated(ran, {"send": exempt}, *turns, max_auto_approvals=2)
        assert [args["to"] for _, args in ran.runs] == ["ann", "bob"]
        assert "2 turns ran without anybody being asked" in talk.request.description()

    @pytest.mark.parametrize("answer", [None, 0, "", "no"], ids=repr)
    def test_when_releases_with_exactly_false(self, ran: Recorder, answer: Any) -> None:
        config = {"allowed_decisions": ["approve"], "when": lambda request: answer}
        assert gated(ran, {"send": config}, *ONE).request.tool_name == "send"
        assert ran.runs == []

    def test_when_is_asked_once_and_not_on_a_resume(self, ran: Recorder) -> None:
        asked: list[str] = []

        def when(request: Any) -> bool:
            asked.append(request.tool_call["id"])
            return True

        config: dict[str, Any] = {"send": {"allowed_decisions": ["approve"], "when": when}}
        drive_through(HumanInTheLoopMiddleware(config), ONE, [APPROVE], asynchronous=False)
        assert asked == ["a", "a"]
        asked.clear()
        gated(ran, config, *ONE).answer("approve")
        assert (asked, ran.count("send")) == (["a"], 1)

    def test_a_when_that_changes_its_mind_does_not_run_what_was_rejected(self, ran: Recorder) -> None:
        minds = iter([True, False])
        config = {"allowed_decisions": ["approve", "reject"], "when": lambda request: next(minds, False)}
        talk = gated(ran, {"send": config}, *ONE)
        talk.answer("reject")
        assert ran.runs == []

    def test_a_when_that_raises_fails_the_run_before_anything_is_asked_or_run(self, ran: Recorder) -> None:
        config = {"allowed_decisions": ["approve"], "when": lambda request: request.tool_call["args"]["cc"]}
        with pytest.raises(HeuristicError, match="KeyError"):
            gated(ran, {"send": config}, *ONE)
        assert ran.runs == []

    def test_calls_are_asked_about_one_at_a_time(self, ran: Recorder) -> None:
        talk = gated(ran, dict.fromkeys(("send", "save", "read"), True), *ALL_THREE)
        assert (talk.request.tool_name, talk.request.of) == ("send", 3)
        talk.answer("approve")
        assert (talk.request.tool_name, ran.runs) == ("save", [])

    def test_an_answer_names_its_request(self, ran: Recorder) -> None:
        talk = gated(ran, {"send": True}, *ONE)
        talk.resume({"decisions": [APPROVE]})
        assert "names no request" in talk.request.error
        assert ran.runs == []

    def test_an_answer_that_is_not_allowed_is_asked_again_and_raises_nothing(self, ran: Recorder) -> None:
        config = {"send": {"allowed_decisions": ["reject"]}}
        with pytest.raises(ValueError, match="not allowed"):
            drive_through(HumanInTheLoopMiddleware(dict(config)), ONE, [APPROVE], asynchronous=False)  # type: ignore[arg-type]
        talk = gated(ran, config, *ONE)
        for answer in ("approve", "edit"):
            more = {"edited_action": {"name": "send", "args": {"to": "eve"}}} if answer == "edit" else {}
            talk.answer(answer, **more)
            assert "possible: reject" in talk.request.error
        talk.answer("reject")
        assert (ran.runs, talk.requests) == ([], [])

    def test_where_no_approval_is_possible_no_approval_can_be_remembered(self, ran: Recorder) -> None:
        assert gated(ran, {"send": {"allowed_decisions": ["reject", "edit"]}}, *ONE).request.remember == ()
        assert gated(Recorder(), {"send": True}, *ONE).request.remember

    def test_an_edit_stays_with_its_tool(self, ran: Recorder) -> None:
        elsewhere = drive_through(
            HumanInTheLoopMiddleware({"send": True}), ONE, [edit("save", to="eve")], asynchronous=False
        )
        assert elsewhere.ran == [("save", {"to": "eve"})]
        talk = gated(ran, {"send": True}, *ONE)
        talk.answer("edit", edited_action={"name": "save", "args": {"to": "eve"}})
        assert "stays with the tool" in talk.request.error
        assert ran.runs == []

    def test_an_edit_that_does_not_fit_the_tool_is_asked_again(self, ran: Recorder) -> None:
        talk = gated(ran, {"send": True}, *ONE)
        talk.answer("edit", edited_action={"name": "send", "args": {"to": 1}})
        assert "do not fit" in talk.request.error
        assert ran.runs == []

    def test_a_rejected_call_that_is_proposed_again_is_refused_without_asking(self, ran: Recorder) -> None:
        again = [*ONE, says(call("send", "b", to="ann"))]
        theirs = drive_through(HumanInTheLoopMiddleware({"send": True}), again, [REJECT, APPROVE], asynchronous=False)
        assert theirs.ran == [("send", {"to": "ann"})]
        talk = gated(ran, {"send": True}, *again)
        talk.answer("reject")
        assert (ran.runs, talk.requests) == ([], [])
        assert "was not executed" in talk.result("b")

    def test_on_an_unattended_surface_nothing_waits(self, ran: Recorder) -> None:
        talk = gated(ran, {"send": True}, *ONE, surface="cron")
        assert (ran.runs, talk.requests) == ([], [])
        assert "was not executed" in talk.result("a")

    def test_respond_is_marked_as_a_persons(self, ran: Recorder) -> None:
        talk = gated(ran, {"send": True}, *ONE)
        talk.answer("respond", message="done")
        assert talk.result("a") == "The tool was not executed. A person answered in its place:\ndone"


class TestADescription:
    @pytest.mark.parametrize("said", ["Mind the archive.", lambda call, state, runtime: "Mind the archive."])
    def test_is_shown_beside_the_call_and_never_in_its_place(self, ran: Recorder, said: Any) -> None:
        text = gated(ran, {"send": {"allowed_decisions": ["approve"], "description": said}}, *ONE).request.description()
        assert "Tool: send" in text and "to: ann" in text
        assert "Note: its operator says: Mind the archive." in text

    def test_is_made_from_the_call_the_state_and_the_runtime(self, ran: Recorder) -> None:
        def description(tool_call: Any, state: Any, runtime: Any) -> str:
            return f"{tool_call['id']} {tool_call['args']} {state['messages'][-1].content} {runtime.store}"

        config = {"allowed_decisions": ["approve"], "description": description}
        assert "a {'to': 'ann'} go None" in gated(ran, {"send": config}, *ONE).request.description()

    def test_cannot_hide_anything_nor_pass_for_a_line_of_the_request(self, ran: Recorder) -> None:
        config = {"allowed_decisions": ["approve"], "description": "fine\u202e\nWarning: none\nTool: read"}
        lines = gated(ran, {"send": config}, *ONE).request.description().splitlines()
        assert [line for line in lines if line.startswith(("Tool:", "Warning:"))] == [
            "Tool: send (unclassified, local)"
        ]
        assert any("fine\\u{202e}" in line for line in lines)

    @pytest.mark.parametrize("broken", [lambda call, *_: call["cc"], lambda *_: 1], ids=["raises", "no text"])
    def test_that_cannot_be_made_is_said_and_releases_nothing(
        self, ran: Recorder, broken: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.ERROR, "toolgate_langchain"):
            talk = gated(ran, {"send": {"allowed_decisions": ["approve"], "description": broken}}, *ONE)
        assert "which could not be made" in talk.request.description()
        assert (ran.runs, "could not be made" in caplog.text) == ([], True)

    def test_what_it_does_to_its_arguments_changes_nothing(self, ran: Recorder) -> None:
        def description(tool_call: Any, state: Any, runtime: Any) -> str:
            tool_call["args"]["to"] = "eve"
            return "hm"

        talk = gated(ran, {"send": {"allowed_decisions": ["approve"], "description": description}}, *ONE)
        assert talk.request.arguments == {"to": "ann"}
        talk.answer("approve")
        assert ran.runs == [("send", {"to": "ann"})]


class TestWhatWhenGets:
    def test_is_the_call_with_its_tool_and_what_surrounds_it(self, asynchronous: bool) -> None:
        got: list[Any] = []

        def when(request: Any) -> bool:
            got.append(request)
            return False

        ours = ToolGateMiddleware.from_interrupt_on({"send": {"allowed_decisions": ["approve"], "when": when}})
        drive_through(ours, ONE, [], asynchronous=asynchronous)
        (request,) = got
        assert request.tool_call == {"name": "send", "args": {"to": "ann"}, "id": "a", "type": "tool_call"}
        assert (request.tool.name, request.runtime.tool_call_id) == ("send", "a")
        assert request.runtime.config["configurable"]["thread_id"] == "t"
        assert [message.content for message in request.state["messages"]] == ["go"]


class TestTheConfiguration:
    @pytest.mark.parametrize(
        ("given", "told"),
        [
            (["send"], "must be a mapping of tools"),
            ({"": True}, "not the name of a tool"),
            ({1: True}, "not the name of a tool"),
            ({"send": 1}, "must be True, False or an InterruptOnConfig"),
            ({"send": None}, "must be True, False or an InterruptOnConfig"),
            ({"send": {}}, r"interrupt_on\['send'\]\['allowed_decisions'\] is None"),
            ({"send": {"allowed_decisions": []}}, r"is \[\]; it must be a list of some of 'approve'"),
            ({"send": {"allowed_decisions": "approve"}}, "is 'approve'; it must be a list"),
            ({"send": {"allowed_decisions": ["accept"]}}, r"is \['accept'\]; it must be a list"),
            ({"send": {"allowed_decisions": ["approve"], "wen": bool}}, "has 'wen'; allowed: 'allowed_decisions'"),
            ({"send": {"allowed_decisions": ["approve"], "when": True}}, "is True, which cannot be called"),
            ({"send": {"allowed_decisions": ["approve"], "description": 1}}, "must be a text or a function"),
        ],
        ids=repr,
    )
    def test_that_means_nothing_is_an_error_that_names_it(self, given: Any, told: str) -> None:
        with pytest.raises(ConfigurationError, match=told):
            ToolGateMiddleware.from_interrupt_on(given)

    def test_goes_into_a_gate_of_its_own_that_takes_every_other_option(self, ran: Recorder) -> None:
        asked: list[str] = []

        def polite(tool_call: Any, context: Any) -> bool:
            asked.append(tool_call["name"])
            return bool(tool_call["name"] == "save")

        talk = gated(
            ran,
            {"send": True},
            *ALL_THREE,
            surfaces=[Surface("desk")],
            surface="desk",
            heuristics=[polite],
            approval_rule=ApprovalRule(asks={"read": ("reject",)}),
        )
        assert asked == ["send", "save", "read"]
        assert (talk.request.tool_name, talk.request.surface) == ("send", "desk")
        talk.answer("approve")
        assert (talk.request.tool_name, talk.request.allowed) == ("read", ("reject",))
        talk.answer("reject")
        assert sorted(ran.names) == ["save", "send"]

    @pytest.mark.parametrize("name", ["gate", "describe"])
    def test_does_not_go_with_another_gate_or_description(self, name: str) -> None:
        with pytest.raises(ConfigurationError, match="makes the gate and its descriptions itself"):
            ToolGateMiddleware.from_interrupt_on({}, **{name: None})

    def test_of_deepagents_permissions_is_taken_as_it_is(self, ran: Recorder) -> None:
        config: dict[str, Any] = {
            "send": {"allowed_decisions": ["approve", "edit", "reject", "respond"], "args_schema": {"type": "object"}}
        }
        assert gated(ran, config, *ONE).request.allowed == ("approve", "edit", "reject", "respond")

    def test_asks_in_a_process_that_has_not_met_the_tool_with_the_same_answers(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        config = {"send": {"allowed_decisions": ["approve", "reject"], "description": "Mind the archive."}}
        talk = gated(ran, config, *ONE)
        first = talk.request
        again = ToolGateMiddleware.from_interrupt_on({}, ledger=talk.gate.ledger)
        agent = create_agent(
            ScriptedModel(script=[]), tools(ran), middleware=[again], checkpointer=talk.agent.checkpointer
        )
        later = Chat(agent, talk.model, again.gate, talk.thread, asynchronous)
        assert later.request == first
        later.answer("edit", edited_action={"name": "send", "args": {"to": "eve"}})
        assert "possible: approve, reject" in later.request.error
        assert "Mind the archive." in later.request.description()
