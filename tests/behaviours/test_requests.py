"""The request as it leaves the process, and what a person may send back."""

from typing import Any

import pytest
from langchain.agents.middleware.human_in_the_loop import HITLRequest
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, TypeAdapter, field_validator

from tests.support import Chat, Recorder, call, chat, says, with_profile
from toolgate_langchain import Caller, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.request import ApprovalRequest

ROUTINE = ToolProfile(tier=Tier.ROUTINE)
CONSEQUENTIAL = ToolProfile(tier=Tier.CONSEQUENTIAL)
OK = AIMessage("ok")


def interrupt_of(talk: Chat) -> Any:
    (pending,) = talk.agent.get_state(talk.config).interrupts
    return pending.value


class TestTheInterruptValueIsOneRequest:
    """In the shape that existing approval screens already read, with ours beside it."""

    @pytest.fixture
    def value(self, ran: Recorder, asynchronous: bool) -> Any:
        schema = {"type": "object", "properties": {"to": {"type": "string"}}}
        talk = chat(
            [says(call("send", "s", to="ann"), call("send", "t", to="eve"), text="I promise it is harmless")],
            [ran.tool("send", CONSEQUENTIAL, schema=schema)],
            caller=Caller("kim"),
            asynchronous=asynchronous,
        )
        talk.say()
        return interrupt_of(talk)

    def test_it_has_exactly_these_fields(self, value: Any) -> None:
        assert set(value) == {
            "action_requests", "review_configs", "message", "reason", "tool_call_id", "expires_at", "toolgate",
        }  # fmt: skip
        (action,), (review,) = value["action_requests"], value["review_configs"]
        assert set(action) == {"name", "args", "arguments", "description", "tool_call_id"}
        assert set(review) == {"action_name", "allowed_decisions", "actionName", "allowedDecisions", "args_schema"}
        assert {
            "v", "request_id", "digest", "tier", "surface", "agent_path", "queue", "remember", "warnings", "error",
        } <= set(value["toolgate"])  # fmt: skip

    def test_its_fields_say_what_is_asked(self, value: Any) -> None:
        (action,), (review,), ours = value["action_requests"], value["review_configs"], value["toolgate"]
        assert (action["name"], action["tool_call_id"], value["tool_call_id"]) == ("send", "s", "s")
        assert action["args"] == action["arguments"] == {"to": "ann"}
        assert review["action_name"] == review["actionName"] == "send"
        assert review["allowed_decisions"] == review["allowedDecisions"] == ["approve", "edit", "reject", "respond"]
        assert review["args_schema"]["properties"] == {"to": {"type": "string"}}
        assert (value["reason"], value["expires_at"]) == ("toolgate:approval", None)
        assert (ours["v"], ours["tier"], ours["surface"], ours["caller"]) == (1, "consequential", "chat", "kim")
        assert (ours["agent_path"], ours["queue"]) == ([], {"position": 1, "of": 2})
        assert (ours["warnings"], ours["error"]) == ([], None)
        assert len(ours["request_id"]) == 32 and len(ours["digest"]) == 64

    def test_its_text_is_of_the_call_and_never_the_models_words(self, value: Any) -> None:
        assert "ann" in value["message"] and "consequential" in value["message"]
        assert "harmless" not in str(value)

    def test_each_memory_that_may_be_chosen_says_exactly_what_it_would_remember(self, value: Any) -> None:
        texts = {(one["what"], one["scope"]): one["text"] for one in value["toolgate"]["remember"]}
        # The run is for a known caller, so that "always" may also reach all conversations of theirs.
        assert set(texts) == {("arguments", "thread"), ("arguments", "run"), ("arguments", "user")}
        assert all('{"to":"ann"}' in text for text in texts.values())
        assert "in every conversation of kim" in texts["arguments", "user"]

    def test_it_is_a_request_of_langchains_own_middleware_too(self, value: Any) -> None:
        checked = TypeAdapter(HITLRequest).validate_python(value)
        assert checked["action_requests"][0]["args"] == {"to": "ann"}

    def test_it_comes_back_as_the_same_request(self, value: Any) -> None:
        assert ApprovalRequest.from_interrupt(value).to_interrupt() == value


DECISIONS: dict[str, tuple[dict[str, Any], list[Any], str]] = {
    "approve": ({"type": "approve"}, [("save", {"n": 1})], "ran save"),
    "edit": (
        {"type": "edit", "edited_action": {"name": "save", "args": {"n": 2}}},
        [("save", {"n": 2})],
        "A person replaced the arguments",
    ),
    "reject": ({"type": "reject", "message": "too early"}, [], "The reason: too early"),
    "respond": ({"type": "respond", "message": "it is sunny"}, [], "A person answered in its place:\nit is sunny"),
}


class TestWhatIsAcceptedBack:
    """`{"decisions": [d]}` or a bare `d`, with `request_id` and an optional `remember`."""

    @pytest.mark.parametrize("kind", list(DECISIONS))
    @pytest.mark.parametrize("listed", [False, True], ids=["bare", "in decisions"])
    def test_each_kind_of_decision_in_both_shapes(
        self, ran: Recorder, asynchronous: bool, kind: str, listed: bool
    ) -> None:
        decision, runs, told = DECISIONS[kind]
        talk = chat([says(call("save", "s", n=1))], [ran.tool("save", ROUTINE)], asynchronous=asynchronous)
        talk.say()
        answer = {**decision, "request_id": talk.request.request_id}
        talk.resume({"decisions": [answer]} if listed else answer)
        assert (ran.runs, talk.requests) == (runs, [])
        assert told in talk.result("s")

    @pytest.mark.parametrize(
        ("remember", "same", "other", "next_run"),
        [
            ("arguments", True, False, True),
            ("tool", True, True, True),
            ({"what": "arguments"}, True, False, True),
            ({"what": "tool", "scope": "thread"}, True, True, True),
            ({"what": "arguments", "scope": "run"}, True, False, False),
            ({"what": "tool", "scope": "run", "expires_in": 60}, True, True, False),
            (None, False, False, False),
        ],
        ids=str,
    )
    def test_each_form_of_remember(
        self, ran: Recorder, asynchronous: bool, remember: Any, same: bool, other: bool, next_run: bool
    ) -> None:
        """Whether the same call and another one of the tool go unasked in this run, and the same one in the next."""
        script = [
            says(call("save", n=1)), says(call("save", n=1)), says(call("save", n=2)), OK, says(call("save", n=1)),
        ]  # fmt: skip
        talk = chat(script, [ran.tool("save", ROUTINE)], asynchronous=asynchronous)
        talk.say()
        talk.answer("approve", remember=remember)
        asked = []
        while talk.requests:
            asked.append(talk.request.arguments["n"])
            talk.answer("approve")
        assert (1 not in asked, 2 not in asked) == (same, other)
        talk.say("the next run")
        assert (not talk.requests) is next_run

    def test_a_text_in_place_of_the_result_is_marked_as_a_persons_and_runs_nothing(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        talk = chat([says(call("save", "s"))], [ran.tool("save", ROUTINE)], asynchronous=asynchronous)
        talk.say()
        talk.answer("respond", message="ran save")
        (shown,) = [one for one in talk.model.seen[-1] if one.type == "tool"]
        assert shown.text == "The tool was not executed. A person answered in its place:\nran save"
        assert ran.runs == []


class TestANoConfigurationGate:
    """`ToolGateMiddleware()` with nothing at all: every tool unclassified, every call asked."""

    def test_every_call_is_asked_and_each_request_prints_the_line_that_would_classify_the_tool(
        self, ran: Recorder, asynchronous: bool
    ) -> None:
        names = ["read_file", "list_files", "send"]
        talk = chat(
            [says(*[call(name) for name in names])], [ran.tool(name) for name in names], asynchronous=asynchronous
        )
        talk.say()
        for name in names:
            assert (talk.request.tool_name, talk.request.tier) == (name, "unclassified")
            assert f"{name} is unclassified" in talk.request.description()
            assert "@tool_profile(tier=Tier.ROUTINE)" in interrupt_of(talk)["message"]
            assert ran.runs == []
            talk.answer("approve")
        assert sorted(ran.names) == sorted(names)

    def test_a_classified_tool_gets_no_such_line(self, ran: Recorder, asynchronous: bool) -> None:
        talk = chat([says(call("save"))], [ran.tool("save", ROUTINE)], asynchronous=asynchronous)
        talk.say()
        assert "tool_profile" not in talk.request.description()


class TestArgumentsThatDoNotComeBack:
    """Where validating again does not give the same, the model's own arguments run, and the request says so."""

    def test_the_request_says_so_and_no_exact_memory_is_offered(self, asynchronous: bool) -> None:
        class Loud(BaseModel):
            text: str

            @field_validator("text")
            @classmethod
            def _louder(cls, text: str) -> str:
                return f"{text}!"

        def shout(text: str) -> str:
            return f"heard {text}"

        tool = with_profile(
            StructuredTool.from_function(shout, description="Shouts.", args_schema=Loud), ToolProfile(tier=Tier.ROUTINE)
        )
        talk = chat([says(call("shout", "s", text="hey"))], [tool], asynchronous=asynchronous)
        talk.say()
        assert talk.request.arguments == {"text": "hey"}
        assert "so they run as the model wrote them" in talk.request.description()
        assert {offer.what for offer in talk.request.remember} == {"tool"}
        talk.answer("approve", remember="arguments")
        assert "not offered" in talk.request.error
        talk.answer("approve")
        assert talk.result("s") == "heard hey!"


class TestALenientGate:
    """For screens that cannot send an id: opt-in, and an answer without an id never carries a memory."""

    @pytest.mark.parametrize("lenient", [True, False])
    def test_only_a_lenient_gate_takes_an_answer_without_an_id(
        self, ran: Recorder, asynchronous: bool, lenient: bool
    ) -> None:
        gate = ToolGate(answers="lenient") if lenient else ToolGate()
        talk = chat([says(call("save"))], [ran.tool("save", ROUTINE)], gate=gate, asynchronous=asynchronous)
        talk.say()
        talk.resume({"decisions": [{"type": "approve"}]})
        assert ran.count("save") == int(lenient)
        assert bool(talk.requests) is not lenient

    @pytest.mark.parametrize("named", [True, False])
    def test_an_answer_without_an_id_carries_no_memory(self, ran: Recorder, asynchronous: bool, named: bool) -> None:
        talk = chat(
            [says(call("save")), OK, says(call("save"))],
            [ran.tool("save", ROUTINE)],
            gate=ToolGate(answers="lenient"),
            asynchronous=asynchronous,
        )
        talk.say()
        answer = {"type": "approve", "remember": "tool"}
        talk.resume({**answer, "request_id": talk.request.request_id} if named else answer)
        assert (ran.count("save"), len(talk.rules)) == (1, int(named))
        talk.say("again")
        assert bool(talk.requests) is not named


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_more_requests_than_a_person_can_read_with_care_those_beyond_are_refused(
    ran: Recorder, asynchronous: bool, most: int
) -> None:
    """The first ones are asked in the model's order, the others are refused unasked, and what needs nobody runs."""
    calls = [call("save", f"s{n}", n=n) for n in range(3)]
    talk = chat(
        [says(*calls, call("look"))],
        [ran.tool("save", ROUTINE), ran.tool("look", ToolProfile(tier=Tier.READ_ONLY))],
        gate=ToolGate(max_requests_per_turn=most),
        asynchronous=asynchronous,
    )
    talk.say()
    for position in range(most):
        assert (talk.request.arguments, talk.request.position, talk.request.of) == ({"n": position}, position + 1, most)
        talk.answer("approve")
    assert talk.requests == []
    assert sorted(arguments["n"] for name, arguments in ran.runs if name == "save") == list(range(most))
    assert ran.count("look") == 1
    assert all("Propose fewer at a time" in talk.result(f"s{n}") for n in range(most, 3))


def test_ids_that_repeat_are_fresh_in_the_blocks_of_the_message_too(ran: Recorder, asynchronous: bool) -> None:
    """Two calls with one id → fresh ids before the message is saved, in every form in which a provider reads them."""
    blocks: list[Any] = [{"type": "text", "text": "now"}]
    blocks += [{"type": "tool_use", "id": "same", "name": "save", "input": {"n": n}} for n in (1, 2)]
    message = AIMessage(blocks, tool_calls=[call("save", "same", n=1), call("save", "same", n=2)])
    talk = chat([message], [ran.tool("save", ROUTINE)], asynchronous=asynchronous)
    talk.say()
    talk.answer("approve")
    talk.answer("reject")
    assert ran.runs == [("save", {"n": 1})]
    saved = talk.messages[1]
    assert isinstance(saved, AIMessage)
    ids = [one["id"] for one in saved.tool_calls]
    assert [block["id"] for block in saved.content if isinstance(block, dict) and block["type"] == "tool_use"] == ids
    from langchain_anthropic.chat_models import _format_messages  # it takes long to load, for this test alone

    _, formatted = _format_messages(talk.messages, model=None)
    results = [block for one in formatted for block in one["content"] if isinstance(block, dict)]
    assert [block["tool_use_id"] for block in results if block["type"] == "tool_result"] == ids
