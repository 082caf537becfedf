"""One long conversation: forty turns of the model, every kind of call and every kind of answer.

It is written once, without a word about any host. `play` holds it through a host and keeps what can
be told from outside: what a person was shown, what ran, what was decided, and the tool messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from tests.conversation.tools import SERVER, helper, made_tools, remote_tools
from tests.support import Clock
from toolgate_langchain import (
    ApprovalRequest,
    Caller,
    GatedAgent,
    Surface,
    ToolCatalog,
    ToolGate,
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
        "Ask the server.",  # Of its tools one only hints that it is harmless, and one was declared to need nobody.
        [says(call("hinted", "1a", query="x"), call("declared", "1b", query="x"), call("unknown", "1c", query="x"))],
        [APPROVE, REJECT],
    ),
    Exchange("Look around.", [says(call("read", "2a"), call("read", "2b", path="b"))]),
    Exchange(
        "One without an id, and one id twice.",
        [
            says(
                call("send", None, to="x", body="1"),
                call("send", "3", to="y", body="2"),
                call("send", "3", to="z", body="3"),
            )
        ],
        [APPROVE, REJECT, APPROVE],
    ),
    Exchange("Say first what it would do.", [says(call("purge", "4", table="mails"))], [APPROVE]),
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
        "Remember the tool, in this run.",
        [says(call("tidy", "17", room="hall")), says(call("tidy", "18", room="bath"))],
        [answers("approve", remember={"what": "tool", "scope": "run"})],
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
    Exchange("Wrong arguments.", [says(call("send", "24a", to="ann"), call("send", "24b", to=["ann"], body="hi"))]),
    Exchange("Let another agent do it.", [says(call("helper", "25", task="greet"))], [APPROVE, REJECT]),
    Exchange("Unreadable.", [_invalid("26")]),
    Exchange(
        "Only administrators, and switched off.",
        [says(call("erase", "27a", disk="c"), call("radio", "27b", station="one"))],
    ),
    Exchange(
        "What held in one run holds in no other; now remember it for me.",
        [says(call("tidy", "28", room="hall"))],
        [answers("approve", remember={"what": "tool", "scope": "user"})],
    ),
    Exchange(
        "Marked, and filled in by a person.",
        [says(call("vault", "29a", box="1"), call("book", "29b", city="guess", note="keep"))],
        [APPROVE, answers("approve", input={"city": "Berlin"})],
    ),
    Exchange("It depends.", [says(call("pay", "30a", amount=5), call("pay", "30b", amount=500))], [APPROVE]),
    Exchange("What I had remembered holds in every run.", [says(call("tidy", "31", room="bath"))]),
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

ELSEWHERE = Exchange("The same person, in another conversation.", [says(call("tidy", "41", room="loft"))])
"""What was remembered for a person holds in each of their conversations."""

HELPER: tuple[AIMessage, ...] = (
    says(call("send", "i1", to="guest", body="hello")),
    says(call("read", "i2", path="guests"), call("send", "i3", to="guest", body="bye")),
    AIMessage("greeted"),
)
"""What the model of the agent says that the tool `helper` starts."""


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
    told: list[tuple[Any, ...]] = field(default_factory=list, compare=False)
    """What the observer was told, in its order."""
    names: dict[str, str] = field(default_factory=dict, compare=False)
    """For each call that the gate gave an id, that is random, what it is called here."""


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
            not, most calls take the short ways, and the exchange about the policy and the other conversation
            are left out.
    """
    played = Played()

    def heard(outcome: CallOutcome) -> None:
        played.told.append((
            outcome.call_id, outcome.name, dict(outcome.arguments),
            outcome.verdict, outcome.code, outcome.layer, outcome.asked,
        ))  # fmt: skip

    tools, remote = made_tools(played.ran), remote_tools(played.ran)
    catalog = ToolCatalog.from_tools(tools, disabled_groups=["media"])
    catalog.add_remote(SERVER, remote)
    tools += remote
    ledger = RecordingInMemoryLedger() if watched else None
    gate = ToolGate(
        catalog,
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
    # The agent inside has the gate, the surface and the person of the one that starts it.
    inside = GatedAgent(
        ScriptedModel(script=list(HELPER)), list(tools), gate, name="greeter", surface=SURFACE, caller=Caller("ann")
    )
    tools.append(helper(inside, played.ran))
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
    if watched:
        # Another thread with the same gate: what is the person's own goes with them.
        setup = replace(setup, thread=f"{setup.thread} elsewhere", script=[*ELSEWHERE.turns, AIMessage("Well.")])
        elsewhere = host.start(replace(setup, model=ScriptedModel(script=list(setup.script))))
        elsewhere.say(ELSEWHERE.user)
        assert elsewhere.requests == [], host.name
        played.history.extend(message.type for message in elsewhere.messages)
    played.record = [] if ledger is None else list(export_record(ledger))
    _read_history(talk.messages, played)
    return _named(played)


def _read_history(messages: Sequence[BaseMessage], played: Played) -> None:
    for message in messages:
        played.history.append(message.type)
        for made in message.tool_calls if isinstance(message, AIMessage) else ():
            if str(made["id"]).startswith("call_"):
                played.names[str(made["id"])] = f"fresh {len(played.names) + 1}"
        if isinstance(message, ToolMessage):
            assert message.tool_call_id not in played.results, f"two messages for {message.tool_call_id}"
            played.results[message.tool_call_id] = message.text


def _named(played: Played) -> Played:
    """With the ids that the gate gave, which are random, told by their order in the history."""
    names = played.names
    return replace(
        played,
        ran=sorted(played.ran),
        shown=[{**one, "call": names.get(one["call"], one["call"])} for one in played.shown],
        outcomes={names.get(key, key): tuple(outcome) for key, *outcome in played.told},
        results={names.get(key, key): text for key, text in played.results.items()},
    )


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
        "preview": request.preview,
        "agents": request.agent_path,
        "warnings": request.warnings,
        "notes": request.notes,
        "asked again": bool(request.error),
    }
