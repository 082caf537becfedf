"""What a person said, and what a person approved a short time ago."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ready_heuristics.asking import says_yes
from tests.support import Clock, Recorder, call, chat, says
from toolgate_langchain import Caller, InMemoryLedger, SqlLedger, Surface, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.ready_heuristics import ApprovedBefore, GivenByPerson
from toolgate_langchain.errors import ConfigurationError

ANN = Caller("ann")
SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)
ANY = {"type": "object", "properties": {}, "additionalProperties": True}
GIVEN = GivenByPerson("act", ["to", "file_id", "amount"], others=["subject"])


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("Write to ann@example.com please.", {"to": "ann@example.com"}),
        ("Write to ann@example.com, and to bob@example.com.", {"to": ["ann@example.com", "bob@example.com"]}),
        ("Delete file 13", {"file_id": "13"}),
        ("Delete file 13", {"file_id": 13, "subject": "anything at all"}),
        ("Pay 250 to ann@example.com", {"to": "ann@example.com", "amount": 250}),
    ],
)
def test_decisive_arguments_that_the_person_said_are_approved(words: str, arguments: dict[str, Any]) -> None:
    assert says_yes(GIVEN, words=(words,), **arguments)


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("Meet me on June 13", {"file_id": "13"}),
        ("Write to ann@example.com", {"to": "ann@example.co"}),
        ("Write to ann@example.com", {"to": "nn@example.com"}),
        ("Write to ann@example.com", {"to": ["ann@example.com", "eve@evil.example"]}),
        ("Write to ann@example.com", {"to": "ann@example.com", "amount": 5}),
        ("Write to ann@example.com", {"to": "ann@example.com", "body": "x"}),
        ("Write to ann@example.com", {"subject": "ann@example.com"}),
        ("Do what the mail says", {"to": "eve@evil.example"}),
        ("anything", {"to": ""}),
        ("anything", {"to": []}),
        ("anything", {"to": {}}),
        ("anything", {"to": None}),
        ("True", {"amount": True}),
        ("", {"to": "ann@example.com"}),
        ("a" * 10, {"to": ["a" * 10] * 101}),
    ],
)
def test_values_count_whole_and_every_one_of_them(words: str, arguments: dict[str, Any]) -> None:
    assert not says_yes(GIVEN, words=(words,), **arguments)
    assert not says_yes(GIVEN, "other", words=("Write to ann@example.com",), to="ann@example.com")


@pytest.mark.parametrize(("words", "asked"), [("Write to ann@example.com", 0), ("Do what the mail says", 1)])
def test_in_an_agent_only_what_came_as_the_persons_input_counts(words: str, asked: int) -> None:
    recorder = Recorder()
    send, read = recorder.tool("send", SEND, schema=ANY), recorder.tool("read", ToolProfile(tier=Tier.READ_ONLY))
    script = [
        says(call("read")),
        says(call("send", to="ann@example.com"), text="Write to ann@example.com"),
        says(text="done"),
    ]
    gate = ToolGate(heuristics=[GivenByPerson("send", ["to"])])
    talk = chat(script, [send, read], gate=gate, surface="chat")
    talk.say(words)
    assert len(talk.requests) == asked
    assert recorder.count("send") == 1 - asked


def test_lists_are_lists_and_something_is_decisive() -> None:
    with pytest.raises(ConfigurationError, match="not one text"):
        GivenByPerson("act", "to")
    with pytest.raises(ConfigurationError, match="name the decisive arguments"):
        GivenByPerson("act", [])


# --- the same call as one that was approved before -----------------------------------------------


class Before:
    """One gate with a record, and conversations behind it, each with its own thread."""

    def __init__(self, ledger: SqlLedger, clock: Clock) -> None:
        self.clock, self.recorder, self.threads = clock, Recorder(), 0
        heuristic = ApprovedBefore("send", 10, ledger, clock=clock)
        surfaces = [Surface("chat"), Surface("cli")]
        self.gate = ToolGate(surfaces=surfaces, heuristics=[heuristic], ledger=ledger, clock=clock)

    def asked(
        self,
        answer: str | None = None,
        *,
        caller: Caller | None = ANN,
        surface: str = "chat",
        schema: Any = ANY,
        asynchronous: bool = False,
        **arguments: Any,
    ) -> bool:
        """Whether a person is asked about a call in a conversation of its own; the answer is given then."""
        self.threads += 1
        tool = self.recorder.tool("send", SEND, schema=schema)
        talk = chat([says(call("send", **arguments)), says(text="done")], [tool], gate=self.gate, surface=surface,
                    caller=caller, thread=f"t{self.threads}", asynchronous=asynchronous)  # fmt: skip
        talk.say()
        asked = bool(talk.requests)
        if asked and answer == "edit":
            talk.answer("edit", edited_action={"name": "send", "args": {"to": "edited"}})
        elif asked and answer is not None:
            talk.answer(answer)
        return asked


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Before]:
    clock = Clock()
    ledger = SqlLedger(f"sqlite:///{tmp_path}/ledger.db", clock=clock)
    yield Before(ledger, clock)
    ledger.close()


def test_a_rejection_behind_more_events_than_are_looked_at_is_no_approval(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events are read from the first one on; the last word on the call may stand behind the last one read."""
    assert before.asked("approve", to="a", n=1)
    assert not before.asked(to="a", n=1)
    so_far = len(before.gate.ledger.events())  # type: ignore[attr-defined]
    monkeypatch.setattr("toolgate_langchain.approvals.ready_heuristics.approved_before._EVENTS", so_far)
    assert before.asked("reject", to="a", n=1)


def test_the_same_call_is_approved_for_some_minutes_after_a_person_approved_it(before: Before) -> None:
    assert before.asked("approve", to="a", n=1)
    before.clock.forward(minutes=9)
    assert not before.asked(n=1, to="a")
    before.clock.forward(minutes=2)
    assert before.asked(to="a", n=1), "what the heuristic approved began no time of its own"
    assert before.recorder.count("send") == 2


def test_an_asynchronous_agent_looks_in_the_same_record(before: Before) -> None:
    assert before.asked("approve", to="a", asynchronous=True)
    assert not before.asked(to="a", asynchronous=True) and not before.asked(to="a")
    assert before.asked(to="b", asynchronous=True)


@pytest.mark.parametrize(
    "other",
    [
        {"to": "b"},
        {"to": "a", "n": 1},
        {"to": "a", "surface": "cli"},
        {"to": "a", "caller": Caller("bob")},
        {"to": "a", "caller": None},
        {"to": "a", "schema": {"type": "object", "properties": {"to": {"type": "string"}}}},
    ],
)
def test_another_call_caller_surface_or_definition_is_asked_about(before: Before, other: dict[str, Any]) -> None:
    assert before.asked("approve", to="a")
    assert before.asked(**other)
    assert not before.asked(to="a")


def test_the_persons_last_word_counts(before: Before) -> None:
    assert before.asked("reject", to="a")
    assert before.asked("approve", to="a")
    assert not before.asked(to="a")


def test_an_edit_approves_what_ran_and_not_what_it_replaced(before: Before) -> None:
    assert before.asked("edit", to="a")
    assert before.asked(to="a")
    assert not before.asked(to="edited")


def test_a_question_that_is_still_open_and_a_run_for_nobody_approve_nothing(before: Before) -> None:
    assert before.asked(to="a") and before.asked(to="a")
    assert before.asked("approve", to="b", caller=None) and before.asked(to="b", caller=None)


def test_what_the_record_does_not_keep_is_asked_about(before: Before) -> None:
    assert before.asked("approve", to="a", password="p1")
    assert before.asked(to="a", password="p1") and before.asked(to="a", password="(masked)")


def test_a_ledger_must_keep_a_record_and_the_time_be_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="InMemoryLedger keeps no record"):
        ApprovedBefore("send", 10, InMemoryLedger())
    ledger = SqlLedger(f"sqlite:///{tmp_path}/ledger.db")
    for minutes in (0, -1, float("inf"), float("nan"), True, "10"):
        with pytest.raises(ConfigurationError, match="minutes is"):
            ApprovedBefore("send", minutes, ledger)  # type: ignore[arg-type]
    ledger.close()
