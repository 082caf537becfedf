"""One long conversation: forty turns of the model, every kind of call and every kind of answer.

It is written once, without a word about any host. `play` holds it through a host and keeps what can
be told from outside: what a person was shown, what ran, what was decided, and the tool messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from tests.support import Clock
from toolgate_langchain import (
    ApprovalRequest,
    Caller,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    ToolProfile,
    Verdict,
    export_record,
)
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.policy.arguments import ArgumentView, PolicyAnswer
from toolgate_langchain.testing.hosts import Host, Setup
from toolgate_langchain.testing.model import ScriptedModel, call, says

SURFACE = "desk"

Answer = Callable[[ApprovalRequest], Any]


@dataclass(frozen=True)
class Exchange:
    """What the user says, what the model does with it, and what the person answers on the way."""

    user: str
    turns: Sequence[AIMessage]
    answers: Sequence[Answer] = ()
    leaves: bool = False
    """Whether the person leaves while a request waits, so that the user's next words end it."""


def answers(kind: str, **more: Any) -> Answer:
    return lambda request: {"type": kind, "request_id": request.request_id, **more}


def edits(**arguments: Any) -> Answer:
    def edited(request: ApprovalRequest) -> Any:
        action = {"name": request.tool_name, "args": arguments}
        return {"type": "edit", "request_id": request.request_id, "edited_action": action}

    return edited


def says_nonsense(_: ApprovalRequest) -> Any:
    return {"decisions": "yes"}


def names_another(request: ApprovalRequest) -> Any:
    return {"type": "approve", "request_id": "0" * len(request.request_id)}


APPROVE, REJECT = answers("approve"), answers("reject", message="not today")


def _invalid(call_id: str) -> AIMessage:
    broken = {"name": "send", "args": "{to:", "id": call_id, "error": None, "type": "invalid_tool_call"}
    return AIMessage("", invalid_tool_calls=[broken])


ABOUT_THE_POLICY = Exchange(
    "The policy says no, or ask.",
    [says(call("fetch", "32", url="evil")), says(call("fetch", "33", url="odd"))],
    [APPROVE],
)

CONVERSATION: tuple[Exchange, ...] = (
    Exchange(
        "Look around.", [says(call("read", "1", path="a")), says(call("read", "2a"), call("read", "2b", path="b"))]
    ),
    Exchange("Note it.", [says(call("note", "3", text="milk"))], [APPROVE]),
    Exchange("Send it.", [says(call("send", "4", to="ann", body="hi"))], [APPROVE]),
    Exchange(
        "Send more.",
        [
            says(call("send", "5", to="bob", body="hi")),
            says(call("send", "6", to="bob", body="hi")),  # the very call that was rejected
            says(call("send", "7", to="bob", body="hello")),  # a variant of it
        ],
        [REJECT, APPROVE],
    ),
    Exchange("Again, in a new run.", [says(call("send", "8", to="bob", body="hi"))], [APPROVE]),
    Exchange(
        "Three at once.",
        [
            says(
                call("send", "9a", to="a", body="x"), call("read", "9b", path="c"), call("send", "9c", to="c", body="x")
            )
        ],
        [APPROVE, REJECT],
    ),
    Exchange("Change it.", [says(call("send", "10", to="dan", body="draft"))], [edits(to="dan", body="final")]),
    Exchange(
        "The original once more.",
        [
            says(call("note", "11", text="one")),
            says(call("note", "12", text="one")),  # what the edit replaced
        ],
        [edits(text="two")],
    ),
    Exchange(
        "Answer for it.", [says(call("send", "13", to="eve", body="?"))], [answers("respond", message="Eve is away.")]
    ),
    Exchange(
        "Remember this.",
        [
            says(call("note", "14", text="keep")),
            says(call("note", "15", text="keep")),
            says(call("note", "16", text="other")),
        ],
        [answers("approve", remember="arguments"), APPROVE],
    ),
    Exchange(
        "Remember the tool.",
        [says(call("tidy", "17", room="hall")), says(call("tidy", "18", room="bath"))],
        [answers("approve", remember="tool")],
    ),
    Exchange(
        "Never this.",
        [says(call("send", "19", to="spam", body="x"))],
        [answers("reject", message="never", remember="arguments")],
    ),
    Exchange("Not in another run either.", [says(call("send", "20", to="spam", body="x"))]),
    Exchange(
        "What do you mean?",
        [says(call("note", "21", text="clumsy"))],
        [says_nonsense, names_another, APPROVE],
    ),
    Exchange("Nobody understands.", [says(call("note", "22", text="lost"))], [says_nonsense] * 3),
    Exchange("No such thing.", [says(call("sned", "23", to="ann", body="hi"))]),
    Exchange("Wrong arguments.", [says(call("send", "24", to="ann")), says(call("send", "25", to=["ann"], body="hi"))]),
    Exchange("Unreadable.", [_invalid("26")]),
    Exchange("Only administrators.", [says(call("erase", "27", disk="c"))]),
    Exchange("Switched off.", [says(call("radio", "28", station="one"))]),
    Exchange(
        "Marked, and filled in by a person.",
        [says(call("vault", "29a", box="1"), call("book", "29b", city="guess", note="keep"))],
        [APPROVE, answers("approve", input={"city": "Berlin"})],
    ),
    Exchange("It depends.", [says(call("pay", "30", amount=5)), says(call("pay", "31", amount=500))], [APPROVE]),
    ABOUT_THE_POLICY,
    Exchange("The heuristic knows.", [says(call("note", "34", text="fine"))]),
    Exchange(
        "And knows again, until the cap.",
        [
            says(call("note", "35", text="fine 1")),
            says(call("note", "36", text="fine 2")),
            says(call("note", "37", text="fine 3")),
        ],
        [APPROVE],
    ),
    Exchange("Hidden.", [says(call("send", "38", to="ann\u202e", body="hi"))], [REJECT]),
    Exchange(
        "Too many.",
        [says(*(call("send", f"39{letter}", to=letter, body="all") for letter in "abcd"))],
        [APPROVE, REJECT, APPROVE],
    ),
    Exchange("Wait for me.", [says(call("send", "40", to="zoe", body="late"))], leaves=True),
    Exchange("Forget it.", []),
)
"""Forty turns with calls. A call's id is the number of its turn, with a letter where there are several."""


class _Read(BaseModel):
    path: str = "."


class _Note(BaseModel):
    text: str


class _Send(BaseModel):
    to: str
    body: str


class _Tidy(BaseModel):
    room: str


class _Erase(BaseModel):
    disk: str


class _Radio(BaseModel):
    station: str


class _Vault(BaseModel):
    box: str


class _Book(BaseModel):
    city: str
    note: str


_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class _Pay(BaseModel):
    amount: int


class _Fetch(BaseModel):
    url: str


_TOOLS: Mapping[str, tuple[type[BaseModel], ToolProfile]] = {
    "read": (_Read, ToolProfile(tier=Tier.READ_ONLY)),
    "note": (_Note, ToolProfile(tier=Tier.ROUTINE)),
    "send": (_Send, ToolProfile(tier=Tier.CONSEQUENTIAL)),
    "tidy": (_Tidy, ToolProfile(tier=Tier.ROUTINE)),
    "erase": (_Erase, ToolProfile(tier=Tier.CONSEQUENTIAL, admin_only=True)),
    "radio": (_Radio, ToolProfile(tier=Tier.READ_ONLY, groups=frozenset({"media"}))),
    "vault": (_Vault, ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)),
    "book": (_Book, ToolProfile(tier=Tier.ROUTINE, input_schema=_CITY)),
    "pay": (_Pay, ToolProfile(tier=Tier.READ_ONLY, approval_when=lambda arguments: arguments["amount"] > 100)),
    "fetch": (_Fetch, ToolProfile(tier=Tier.READ_ONLY)),
}


@dataclass
class Played:
    """What can be told of a conversation from outside."""

    shown: list[dict[str, Any]] = field(default_factory=list)
    """Each request as it surfaced, without what is random."""
    outcomes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """For each call id what was decided, by which layer, and whether a person was asked."""
    ran: list[str] = field(default_factory=list)
    """What ran, sorted: the calls of one turn run at the same time."""
    results: dict[str, str] = field(default_factory=dict)
    """The one tool message of each call."""
    history: list[str] = field(default_factory=list)
    """Kinds of messages, in their order."""
    record: list[str] = field(default_factory=list, compare=False)
    """The record of its ledger, as lines, where somebody listens."""


def _made(played: Played, name: str) -> BaseTool:
    schema, profile = _TOOLS[name]

    def run(**arguments: Any) -> str:
        played.ran.append(f"{name} {arguments}")
        return f"{name} did {arguments}"

    async def arun(**arguments: Any) -> str:
        return run(**arguments)

    return StructuredTool(
        name=name,
        description=f"Does {name}.",
        func=run,
        coroutine=arun,
        args_schema=schema,
        metadata={"toolgate": profile},
    )


def addresses(view: ArgumentView) -> PolicyAnswer:
    said = {"evil": Verdict.DENY, "odd": Verdict.ASK}.get(view.arguments.get("url", ""), Verdict.ALLOW)
    return PolicyAnswer(said, "the list of addresses")


def knows_what_is_fine(called: Any, _: Any) -> bool:
    return called["name"] == "note" and str(called["args"]["text"]).startswith("fine")


def play(host: Host, *, watched: bool = True) -> Played:
    """Hold the conversation through a host.

    Args:
        host: The host.
        watched: Whether somebody listens to what is decided and a policy looks at all arguments. Where
            not, most calls take the short ways, and the exchange about the policy is left out.
    """
    played = Played()

    def heard(outcome: CallOutcome) -> None:
        assert outcome.call_id not in played.outcomes, f"{outcome.call_id} ended twice"
        played.outcomes[outcome.call_id] = (
            outcome.name, dict(outcome.arguments), outcome.verdict, outcome.code, outcome.layer, outcome.asked,
        )  # fmt: skip

    tools = [_made(played, name) for name in _TOOLS]
    ledger = RecordingInMemoryLedger() if watched else None
    gate = ToolGate(
        ToolCatalog.from_tools(tools, disabled_groups=["media"]),
        [Surface(SURFACE)],
        argument_policies=[addresses] if watched else [],
        heuristics=[knows_what_is_fine],
        max_auto_approvals=2,
        max_requests_per_turn=3,
        on_decision=heard if watched else None,
        ledger=ledger,
        record="all",
        clock=Clock(),
    )
    # Every exchange ends with words; the last turn of one that is left open is never followed.
    held = [one for one in CONVERSATION if watched or one is not ABOUT_THE_POLICY]
    script = [turn for one in held for turn in (*one.turns, *([] if one.leaves else [AIMessage("Well.")]))]
    setup = Setup(
        gate=gate, script=script, tools=tools, surface=SURFACE, caller=Caller("ann"), model=ScriptedModel(script=script)
    )
    talk = host.start(setup)
    for exchange in held:
        talk.say(exchange.user)
        for answer in exchange.answers:
            requests = talk.requests
            assert len(requests) == 1, (host.name, exchange.user, requests)
            (request,) = requests
            played.shown.append(_as_shown(request))
            talk.answer(answer(request))
        assert bool(talk.requests) is exchange.leaves, (host.name, exchange.user, talk.requests)
    played.ran.sort()
    played.record = [] if ledger is None else list(export_record(ledger))
    for message in talk.messages:
        played.history.append(message.type)
        if isinstance(message, ToolMessage):
            assert message.tool_call_id not in played.results, f"two messages for {message.tool_call_id}"
            played.results[message.tool_call_id] = message.text
    return played


def _as_shown(request: ApprovalRequest) -> dict[str, Any]:
    return {
        "call": request.tool_call_id,
        "tool": request.tool_name,
        "arguments": dict(request.arguments),
        "tier": request.tier,
        "surface": request.surface,
        "caller": request.caller,
        "because": request.reason,
        "place": (request.position, request.of),
        "allowed": request.allowed,
        "remember": request.remember,
        "warnings": request.warnings,
        "notes": request.notes,
        "asked again": bool(request.error),
    }
