"""A new user message while a request is pending closes the turn, and nothing dangles."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai.chat_models.base import _convert_message_to_dict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from tests.behaviours.answering import approve, give, reject
from tests.support import Chat, Recorder, Turn, call, chat, says, with_profile
from toolgate_langchain import Tier, ToolGate, ToolGateMiddleware, ToolProfile

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)


@pytest.fixture
def start(ran: Recorder, asynchronous: bool) -> Callable[..., Chat]:
    """Start a chat whose first message is said already."""

    def starts(*script: Turn, tools: list[BaseTool] | None = None, **options: Any) -> Chat:
        own = [ran.tool("send", CONSEQUENTIAL), ran.tool("save", ROUTINE), ran.tool("read", READ), *(tools or [])]
        talk = chat(script, own, asynchronous=asynchronous, **options)
        talk.say("first")
        return talk

    return starts


def waits(name: str, profile: ToolProfile) -> BaseTool:
    """A tool that asks something of its own, inside."""

    def ask() -> str:
        return f"told {interrupt('a question of the tool')}"

    async def aask() -> str:
        return ask()

    made = StructuredTool(name=name, description="Asks.", func=ask, coroutine=aask, args_schema={"type": "object"})
    return with_profile(made, profile)


def check_providers_accept(messages: list[BaseMessage]) -> None:
    """Each call has exactly one result, directly behind its message: what both providers' APIs demand."""
    sent = [_convert_message_to_dict(message) for message in messages]
    position = 0
    while position < len(sent):
        wanted = [one["id"] for one in sent[position].get("tool_calls", ())]
        position += 1
        results = [one["tool_call_id"] for one in sent[position : position + len(wanted)] if one["role"] == "tool"]
        assert sorted(results) == sorted(wanted)
        position += len(wanted)
        assert position == len(sent) or sent[position]["role"] != "tool"
    from langchain_anthropic.chat_models import _format_messages  # it takes long to load, for this alone

    _, formatted = _format_messages(messages, model=None)
    waiting: list[str] = []
    for one in formatted:
        blocks = one["content"] if isinstance(one["content"], list) else []
        if one["role"] == "user":
            given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            assert sorted(given) == sorted(waiting)
            # Results come before anything else in their message.
            assert all(block["type"] == "tool_result" for block in blocks[: len(given)])
            waiting = []
        else:
            assert not waiting
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert not waiting


class TestANewUserMessageWhileARequestIsPending:
    def test_that_request_and_its_queue_are_closed_as_superseded(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1), call("read", "b"), call("save", "c")), AIMessage("fine"))
        talk.say("do something else")
        assert talk.requests == []
        assert ran.runs == []
        for call_id in ("a", "b", "c"):
            assert "Superseded, not executed" in talk.result(call_id)

    def test_each_call_has_its_tool_message_in_its_place(self, start: Callable[..., Chat]) -> None:
        talk = start(says(call("send", "a"), call("save", "b")), AIMessage("fine"))
        talk.say("do something else")
        kinds = [(type(message), getattr(message, "tool_call_id", message.text)) for message in talk.messages]
        assert kinds == [
            (HumanMessage, "first"),
            (AIMessage, ""),
            (ToolMessage, "a"),
            (ToolMessage, "b"),
            (HumanMessage, "do something else"),
            (AIMessage, "fine"),
        ]

    def test_the_history_is_valid_for_openais_and_anthropics_converters_and_the_text_reaches_the_model(
        self, start: Callable[..., Chat]
    ) -> None:
        talk = start(says(call("send", "a"), call("read", "b")), AIMessage("fine"))
        talk.say("do something else")
        shown = talk.model.seen[-1]
        check_providers_accept(shown)
        assert shown[-1].text == "do something else"

    def test_the_check_of_the_history_finds_a_result_that_is_missing_or_out_of_place(self) -> None:
        asked, told = says(call("send", "a")), ToolMessage("ran", tool_call_id="a")
        check_providers_accept([HumanMessage("go"), asked, told, HumanMessage("and")])
        for wrong in ([HumanMessage("go"), asked, HumanMessage("and"), told], [HumanMessage("go"), asked]):
            with pytest.raises(AssertionError):
                check_providers_accept(wrong)

    def test_it_is_closed_once_however_often_the_user_writes(self, start: Callable[..., Chat]) -> None:
        talk = start(says(call("send", "a")), AIMessage("fine"), says(call("send", "b")), AIMessage("fine"))
        for text in ("second", "third", "fourth"):
            talk.say(text)
        check_providers_accept(talk.messages)
        assert [message.tool_call_id for message in talk.results] == ["a", "b"]
        assert [message.text for message in talk.messages if isinstance(message, HumanMessage)] == [
            "first", "second", "third", "fourth",
        ]  # fmt: skip

    def test_an_answer_to_the_closed_request_comes_too_late(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a")), AIMessage("fine"))
        closed = talk.request.request_id
        talk.say("do something else")
        history = talk.messages
        assert give(talk, approve(closed)).status == "not_pending"
        talk.resume(approve(closed))
        assert (ran.runs, talk.messages) == ([], history)

    def test_approvals_of_the_queue_are_withdrawn(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)), says(call("send", "c", n=1)))
        talk.answer("approve")
        talk.say("do something else")
        assert "Superseded, not executed" in talk.result("a")
        assert ran.runs == []
        assert talk.request.tool_call_id == "c"  # the same call is asked about anew

    def test_a_question_of_the_next_turn_is_asked_as_usual(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("send", "a")), says(call("send", "b")))
        talk.say("do something else")
        talk.answer("approve")
        assert (ran.count("send"), talk.result("b")) == (1, "ran send")


class TestRulesAndRejectionsMadeSoFarAreKept:
    def test_a_rule_of_the_queue_is_kept(self, start: Callable[..., Chat], ran: Recorder) -> None:
        talk = start(says(call("save", "a", n=1), call("send", "b")), says(call("save", "c", n=1)))
        talk.answer("approve", remember="arguments")
        talk.say("do something else")
        assert talk.requests == []
        assert ran.runs == [("save", {"n": 1})]

    def test_a_rejection_of_the_queue_is_kept(self, start: Callable[..., Chat], ran: Recorder) -> None:
        """The model hears of it with its reason, and the same call is refused in the run that follows."""
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)), says(call("send", "c", n=1)))
        talk.answer("reject", message="not to Ann")
        talk.say("do something else")
        assert "not to Ann" in talk.result("a")
        assert "Superseded" in talk.result("b")
        assert "rejected exactly this call" in talk.result("c")
        assert (ran.runs, talk.requests) == ([], [])

    def test_an_approval_that_was_taken_back_counts_as_a_rejection(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("send", "a", n=1), call("send", "b", n=2)), says(call("send", "c", n=1)))
        first = talk.request.request_id
        give(talk, approve(first))
        give(talk, reject(first, message="on second thoughts"))
        talk.say("do something else")
        assert "on second thoughts" in talk.result("a")
        assert (ran.runs, talk.requests) == ([], [])

    def test_answers_that_were_given_before_the_tools_ran_are_told(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(
            says(call("send", "a", n=1), call("send", "b", n=2), call("send", "c", n=3), call("nothing", "d")),
            AIMessage("fine"),
            agent={"interrupt_before": ["tools"]},
        )
        talk.answer("reject", message="no")
        talk.answer("respond", message="it is sunny")
        talk.answer("approve")
        talk.say("do something else")
        assert "The reason: no" in talk.result("a")
        assert "it is sunny" in talk.result("b")
        assert "Superseded, not executed" in talk.result("c")
        assert "There is no such tool" in talk.result("d")
        assert ran.runs == []
        check_providers_accept(talk.messages)


class TestASiblingThatHadAlreadyRunKeepsItsResult:
    @pytest.mark.parametrize("profile", [READ, ROUTINE], ids=["read-only", "routine"])
    def test_beside_a_tool_that_pauses_inside(
        self, start: Callable[..., Chat], ran: Recorder, profile: ToolProfile
    ) -> None:
        talk = start(
            says(call("read", "r"), call("save", "s"), call("ask", "q")),
            AIMessage("fine"),
            tools=[waits("ask", profile)],
        )
        while talk.requests:
            talk.answer("approve")
        assert sorted(ran.names) == ["read", "save"]
        talk.say("do something else")
        assert (talk.result("r"), talk.result("s")) == ("ran read", "ran save")
        # Of a call that may be repeated no start is on record; nothing that it did before it asked would be lost.
        assert ("was not executed" if profile is READ else "outcome is unknown") in talk.result("q")
        assert sorted(ran.names) == ["read", "save"]
        check_providers_accept(talk.model.seen[-1])

    def test_a_tool_that_started_and_paused_is_said_to_have_an_unknown_outcome(
        self, start: Callable[..., Chat]
    ) -> None:
        talk = start(says(call("ask", "q")), AIMessage("fine"), tools=[waits("ask", ROUTINE)])
        talk.answer("approve")
        talk.say("do something else")
        assert "outcome is unknown" in talk.result("q")

    def test_a_turn_of_which_nothing_had_to_be_saved_is_closed_too(
        self, start: Callable[..., Chat], ran: Recorder
    ) -> None:
        talk = start(says(call("read", "r"), call("ask", "q")), AIMessage("fine"), tools=[waits("ask", READ)])
        assert ran.names == ["read"]
        talk.say("do something else")
        assert talk.result("r") == "ran read"
        assert "Superseded" in talk.result("q")
        check_providers_accept(talk.model.seen[-1])

    def test_calls_that_dangle_for_another_reason_are_left_alone(self, start: Callable[..., Chat]) -> None:
        """As after a handover between agents, where another agent answers them."""
        talk = start(AIMessage("hello"))
        handed_over = says(call("transfer", "h"))
        talk.invoke({"messages": [handed_over, HumanMessage("go on")]})
        assert [message for message in talk.messages if isinstance(message, ToolMessage)] == []

    def test_beside_a_subagent_whose_request_is_pending(self, ran: Recorder, asynchronous: bool) -> None:
        gate = ToolGate()
        inner = chat([says(call("send", "i"))], [ran.tool("send", CONSEQUENTIAL)], gate=gate)
        subagent = create_agent(
            inner.model, [ran.tool("send", CONSEQUENTIAL)], middleware=[ToolGateMiddleware(gate)], name="helper"
        )

        def help_out() -> str:
            """Let the helper do it."""
            return str(subagent.invoke({"messages": [HumanMessage("help")]})["messages"][-1].content)

        async def ahelp_out() -> str:
            return str((await subagent.ainvoke({"messages": [HumanMessage("help")]}))["messages"][-1].content)

        delegate = with_profile(
            StructuredTool(
                name="delegate", description="d", func=help_out, coroutine=ahelp_out, args_schema={"type": "object"}
            ),
            READ,
        )
        talk = chat(
            [says(call("save", "s"), call("delegate", "d")), AIMessage("fine")],
            [ran.tool("save", ROUTINE), delegate],
            gate=gate,
            checkpointer=InMemorySaver(),
            asynchronous=asynchronous,
        )
        talk.say("first")
        talk.answer("approve")
        assert (ran.names, talk.request.tool_name) == (["save"], "send")
        talk.say("do something else")
        assert talk.result("s") == "ran save"
        assert ran.names == ["save"]
        check_providers_accept(talk.model.seen[-1])
