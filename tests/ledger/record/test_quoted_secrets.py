"""Whoever is given a sensitive value may quote it; what they wrote is in the record and the log without it."""

from __future__ import annotations

import logging

import pytest
from pydantic import BaseModel, field_validator

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Tier, ToolGate, ToolProfile, export_record, replay_record
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger

SECRET = "hunter2-and-more"


class _Login(BaseModel):
    password: str

    @field_validator("password")
    @classmethod
    def is_long(cls, value: str) -> str:
        if len(value) < 100:
            raise ValueError(f"{value} is too short")
        return value


def test_a_validator_quotes_what_does_not_fit(
    ran: Recorder, ledger: RecordingInMemoryLedger, caplog: pytest.LogCaptureFixture
) -> None:
    tool = ran.tool("login", ToolProfile(tier=Tier.CONSEQUENTIAL), schema=_Login)
    with caplog.at_level(logging.DEBUG, "toolgate_langchain"):
        talk = chat([says(call("login", "a", password=SECRET))], [tool], gate=ToolGate(ledger=ledger))
        talk.say()
    assert f"{SECRET} is too short" in talk.result("a"), "the model made it, and is told"
    assert "invalid_arguments" in caplog.text and SECRET not in caplog.text
    text = "".join(export_record(ledger))
    assert '"invalid_arguments"' in text and SECRET not in text
    assert replay_record(export_record(ledger)).differences == []


def test_a_preview_tells_what_the_call_would_do_with_it(ran: Recorder, ledger: RecordingInMemoryLedger) -> None:
    profile = ToolProfile(tier=Tier.CONSEQUENTIAL, preview=lambda given: f"logs in with {given['password']}")
    talk = chat([says(call("login", "a", password=SECRET))], [ran.tool("login", profile)], gate=ToolGate(ledger=ledger))
    talk.say()
    assert f"logs in with {SECRET}" in talk.request.description(), "who is asked sees it"
    talk.answer()
    assert ran.names == ["login"]
    text = "".join(export_record(ledger))
    assert "It would do" in text and SECRET not in text
    assert replay_record(export_record(ledger)).differences == []


def test_a_preview_that_raises_quotes_it(ran: Recorder, ledger: RecordingInMemoryLedger) -> None:
    def raises(given: object) -> str:
        raise ValueError(f"cannot read {given}")

    profile = ToolProfile(tier=Tier.CONSEQUENTIAL, preview=raises)
    talk = chat([says(call("login", "a", password=SECRET))], [ran.tool("login", profile)], gate=ToolGate(ledger=ledger))
    talk.say()
    assert SECRET in talk.request.description()
    talk.answer()
    assert SECRET not in "".join(export_record(ledger))
