"""One scripted conversation gives the same messages, decisions and requests in each form of the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Chat, Clock, Recorder, call, chat, says, with_profile
from toolgate_langchain import InMemoryLedger, Surface, Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.hosts.record import CallOutcome

READ = ToolProfile(tier=Tier.READ_ONLY)
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


class Passes(AgentMiddleware[Any, Any, Any]):
    """Stands around the model and its tools, and changes nothing."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(request)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(request)


class LooksAfterwards(Passes):
    """Has a hook after the model, so that the gate asks in the loop."""

    def after_model(self, state: Any, runtime: Any) -> None:
        return None


FORMS: dict[str, Callable[[ToolGate], list[Any]]] = {
    "in any list": lambda gate: [ToolGateMiddleware(gate)],
    "around nothing": lambda gate: gate.around(),
    "around others": lambda gate: gate.around([Passes()]),
    "around others in the way": lambda gate: gate.around([LooksAfterwards()]),
}


def approves_small(tool_call: Any, _: Any) -> bool:
    return bool(tool_call["args"].get("n", 99) < 10)


SCRIPT: list[Any] = [
    says(call("read", "1a", n=1)),
    says(call("plain", "2a", n=1), call("plain", "2b", n=2)),
    says(call("send", "3a", to="ann"), call("read", "3b")),
    says(call("send", "4a", to="ann"), call("send", "4b", n=5)),
    says(call("unknown", "5a"), call("plain", "5b", n="five"), call("send", "5c", to="bob")),
    says(call("send", "6a", to="bob"), call("send", "6b", n=6)),
    says(call("send", "7a", to="eve"), text="and now"),
    says(call("last", "8a")),
    says(call("send", "9a", to="ann")),
    says(call("send", "9a", to="zoe"), call("send", "9a", to="zed")),
    says(text="so far so good"),
    says(call("send", "11a", to="late"), call("plain", "11b", n=3)),
    says(call("read", "12a")),
    says(call("send", "13a", to="eve")),
]
ANSWERS: dict[str, dict[str, Any]] = {
    "3a": {"kind": "approve", "remember": "arguments"},
    "5c": {"kind": "reject", "message": "not bob"},
    "7a": {"kind": "edit", "edited_action": {"name": "send", "args": {"to": "eve@home"}}},
    "8a": {"kind": "reject"},
    "13a": {"kind": "respond", "message": "no need"},
}
"""What a person says to the request of a call; any other is approved."""


def tools_of(ran: Recorder) -> list[BaseTool]:
    def plain(n: int, note: str = "-") -> str:
        ran.runs.append(("plain", {"n": n, "note": note}))
        return f"plain {n} {note}"

    async def aplain(n: int, note: str = "-") -> str:
        return plain(n, note)

    made = StructuredTool.from_function(plain, aplain, description="Plain.")
    last = ran.tool("last", SEND).model_copy(update={"return_direct": True})
    return [ran.tool("read", READ), ran.tool("send", SEND), with_profile(made, READ), last]


def told(message: BaseMessage) -> tuple[Any, ...]:
    calls = [(one["name"], one["args"]) for one in getattr(message, "tool_calls", ())]
    return message.type, message.content, calls, getattr(message, "status", None)


def asked(request: ApprovalRequest) -> tuple[Any, ...]:
    """All that a person is shown, but for what is random."""
    return (
        request.tool_name,
        request.arguments,
        request.position,
        request.of,
        request.reason,
        request.warnings,
        request.notes,
        [(offer.what, offer.scope) for offer in request.remember],
    )


class Account:
    """What became of the conversation in one form."""

    def __init__(self, form: str, *, listens: bool, asynchronous: bool, surface: Surface, ledger: Any = None) -> None:
        self.ran, self.outcomes, self.requests = Recorder(), list[CallOutcome](), list[tuple[Any, ...]]()
        ids = count(1)
        gate = ToolGate(
            surfaces=[surface],
            ledger=ledger,
            heuristics=[approves_small],
            # What is told of a standing rule names the minute in which it was made, which must be the same for all.
            clock=Clock(),
            on_decision=self.outcomes.append if listens else None,
            new_id=lambda: f"{next(ids):032x}",
        )
        middleware = FORMS[form](gate)
        self.talk = chat(SCRIPT, tools_of(self.ran), gate=gate, middleware=middleware, asynchronous=asynchronous)

    def run(self) -> Account:
        talk = self.talk
        talk.say("first")
        self._answer_all(talk)
        talk.say("go on")
        # The turn that is asked about now is left behind by the user's next words.
        self.requests += [asked(request) for request in talk.requests]
        talk.say("something else")
        self._answer_all(talk)
        return self

    def _answer_all(self, talk: Chat) -> None:
        while talk.requests:
            request = talk.request
            self.requests.append(asked(request))
            talk.answer(**ANSWERS.get(request.tool_call_id, {"kind": "approve"}))

    @property
    def story(self) -> tuple[Any, ...]:
        """Messages, what ran, requests and rules. Calls of one turn may end in any order."""
        messages = [told(message) for message in self.talk.messages]
        ran = sorted(self.ran.runs, key=repr)
        outcomes = sorted(
            repr((one.name, one.arguments, one.verdict, one.code, one.layer, one.reason, one.asked))
            for one in self.outcomes
        )
        rules = [(rule.tool_name, rule.arguments, rule.effect, rule.scope) for rule in self.talk.rules]
        return messages, ran, self.requests, outcomes, rules, len(self.talk.model.seen)


CHAT = Surface("chat")


def account(form: str, *, listens: bool = False, asynchronous: bool = False, surface: Surface = CHAT) -> Account:
    return _held(form, listens, asynchronous, surface)


@cache
def _held(form: str, listens: bool, asynchronous: bool, surface: Surface) -> Account:
    """The conversation, held once in each way: it is only looked at afterwards."""
    return Account(form, listens=listens, asynchronous=asynchronous, surface=surface).run()


@pytest.mark.parametrize(
    ("listens", "asynchronous", "surface"),
    [
        (False, False, CHAT),
        (False, True, CHAT),
        (True, False, CHAT),
        (False, True, Surface("chat", attended=False)),
    ],
    ids=["sync", "async", "somebody listens", "nobody is there"],
)
def test_a_conversation_is_the_same_in_each_form(listens: bool, asynchronous: bool, surface: Surface) -> None:
    """Also where a listener keeps every call from the short way."""
    stories = {form: account(form, listens=listens, asynchronous=asynchronous, surface=surface).story for form in FORMS}
    for form, story in stories.items():
        assert story == stories["in any list"], form


def test_the_conversation_has_all_kinds_of_answers() -> None:
    """What the comparison above compares: asked and unasked, run, refused, rejected, edited, answered, superseded."""
    made = account("around nothing", listens=True)
    messages, ran, requests, _, rules, turns = made.story
    codes = {outcome.code for outcome in made.outcomes}
    assert {"not_required", "approved", "rejected", "standing_rule", "heuristic:approves_small"} <= codes
    assert {"unknown_tool", "invalid_arguments", "responded"} <= codes
    assert "a person replaced its arguments" in [outcome.reason for outcome in made.outcomes]
    assert any("superseded" in str(content) or "not executed" in str(content) for _, content, _, _ in messages)
    assert ("plain", {"n": 2, "note": "-"}) in ran
    assert ("send", {"to": "late"}) not in ran
    assert len(requests) >= 7
    assert rules == [("send", {"to": "ann"}, "allow", "thread")]
    assert turns == len(SCRIPT) + 1


class Awaited:
    """A ledger that has to be awaited for everything, as one on another machine, and so is never quiet."""

    def __init__(self) -> None:
        self._kept, self.asked = InMemoryLedger(), set[str]()

    def quiet(self, run_id: str, thread_id: str | None, caller_id: str | None = None) -> bool:
        return False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._kept, name)

        async def later(*given: Any, **named: Any) -> Any:
            self.asked.add(name)
            await asyncio.sleep(0)
            return method(*given, **named)

        return later


@pytest.mark.parametrize(("form", "asynchronous"), [("in any list", True), ("around nothing", False)])
def test_a_ledger_that_must_be_awaited_gives_the_same_conversation(form: str, asynchronous: bool) -> None:
    """Whatever is looked up at once with another ledger is looked up there in one look, and awaited."""
    ledger = Awaited()
    awaited = Account(form, listens=False, asynchronous=asynchronous, surface=CHAT, ledger=ledger).run()
    assert awaited.story == account(form).story
    assert {"said", "answer", "grant", "start", "end"} <= ledger.asked
    assert not {"stopped", "memory", "taken_back"} & ledger.asked


def test_a_synchronous_conversation_is_the_asynchronous_one() -> None:
    assert account("around nothing").story == account("around nothing", asynchronous=True).story
