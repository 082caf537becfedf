"""The page on existing screens: its code runs, and does what it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import Chat, Recorder, call, chat, says
from toolgate_langchain import ApprovalRequest, ToolGate, ToolGateMiddleware

PAGE = (Path(__file__).parents[2] / "docs" / "screens.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SEND = says(call("send_email", "m", to="ann"), call("read_inbox", "r"))


def run(block: str, **names: Any) -> dict[str, Any]:
    exec(compile(block, "screens.md", "exec"), names)
    return names


@pytest.fixture
def ran() -> Recorder:
    return Recorder()


def start(ran: Recorder, gate: ToolGate, middleware: Any = None) -> Chat:
    tools = [ran.tool("send_email"), ran.tool("read_inbox")]
    talk = chat([SEND], tools, gate=gate, middleware=None if middleware is None else [middleware])
    talk.say()
    return talk


def test_a_server_that_knows_what_it_showed(ran: Recorder) -> None:
    talk = start(ran, ToolGate())
    (interrupt,) = talk.agent.get_state(talk.config).interrupts
    names = {"gate": talk.gate, "agent": talk.agent, "config": talk.config, "interrupt": interrupt}
    run(BLOCKS[0], ApprovalRequest=ApprovalRequest, **names)
    assert talk.request.tool_name == "read_inbox"  # the first is answered


def test_a_lenient_gate(ran: Recorder) -> None:
    talk = start(ran, run(BLOCKS[1], ToolGate=ToolGate)["gate"])
    talk.resume([{"type": "accept", "args": None}])
    assert talk.request.tool_name == "read_inbox"


def test_langchains_configuration(ran: Recorder) -> None:
    middleware = run(BLOCKS[2], ToolGateMiddleware=ToolGateMiddleware)["middleware"]
    talk = start(ran, middleware.gate, middleware)
    assert talk.request.allowed == ("approve", "reject")
    assert "Goes to customers." in talk.request.description()
    talk.resume({"decisions": [{"type": "approve"}]})
    assert sorted(ran.names) == ["read_inbox", "send_email"]


def test_no_block_is_left_out() -> None:
    assert len(BLOCKS) == 3
