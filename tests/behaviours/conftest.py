"""What the acceptance tests share: each behaviour holds sync and async, for tools that count their runs."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support import Chat, Recorder, Turn, chat
from toolgate_langchain import Tier, ToolProfile


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


@pytest.fixture
def start(ran: Recorder, asynchronous: bool) -> Callable[..., Chat]:
    """Start a chat whose first message is said already."""

    def starts(*script: Turn, **options: Any) -> Chat:
        send = ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))
        save = ran.tool("save", ToolProfile(tier=Tier.ROUTINE))
        talk = chat(script, [send, save], asynchronous=asynchronous, **options)
        talk.say()
        return talk

    return starts
