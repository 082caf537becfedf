"""What the tests of existing screens share: each of them, sync and async, over both ways of sending an answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from tests.screens.readers import SCREENS, Card, Screen, as_sent
from tests.support import Chat, Recorder, Turn, chat
from toolgate_langchain import Tier, ToolGate, ToolProfile


class Mail(BaseModel):
    to: str
    copies: int = 1


@pytest.fixture(params=SCREENS, ids=lambda screen: type(screen).__name__)
def screen(request: pytest.FixtureRequest) -> Screen:
    only: Screen = request.param
    return only


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=["resume", "gate"])
def way(request: pytest.FixtureRequest) -> str:
    """`Command(resume=...)` to a lenient gate, or `gate.answer` by whoever knows what was shown."""
    return str(request.param)


@dataclass
class Desk:
    """A person at a screen, in front of a real agent."""

    talk: Chat
    screen: Screen
    way: str

    @property
    def interrupt(self) -> dict[str, Any]:
        (only,) = self.talk.agent.get_state(self.talk.config).interrupts
        return as_sent(only)

    @property
    def card(self) -> Card:
        return self.screen.card(self.interrupt)

    def send(self, answer: Any) -> None:
        if self.way == "resume":
            self.talk.resume(self.screen.in_resume(self.interrupt, answer))
            return
        gate, talk, read = self.talk.gate, self.talk, self.talk.request.answer_from(answer)
        if not talk.asynchronous:
            assert gate.answer(talk.agent, talk.config, read).status == "accepted"
            return

        async def giving() -> str:
            return (await gate.aanswer(talk.agent, talk.config, read)).status

        assert asyncio.run(giving()) == "accepted"


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture
def sit(ran: Recorder, screen: Screen, asynchronous: bool, way: str) -> Callable[..., Desk]:
    """Let the model make its first turn, and sit down in front of the screen."""

    def sits(*script: Turn, **options: Any) -> Desk:
        send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL), schema=Mail)
        gate = ToolGate(answers="lenient" if way == "resume" else "strict", **options)
        ping = ran.tool("ping", ToolProfile(tier=Tier.ROUTINE))
        talk = chat(script, [send, ping], gate=gate, asynchronous=asynchronous)
        talk.say()
        return Desk(talk, screen, way)

    return sits
