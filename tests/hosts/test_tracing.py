"""With tracing switched on the gate works the same, and what it saw is not in its spans."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import HumanMessage
from langsmith import Client, tracing_context

from tests.support import Recorder, call, chat, says
from toolgate_langchain import Tier, ToolProfile

READ = ToolProfile(tier=Tier.READ_ONLY)


class Spans(Client):
    """A tracing client that keeps what it is given and sends nothing."""

    def __init__(self) -> None:
        super().__init__(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
        self.spans: list[tuple[str, str]] = []

    def create_run(self, name: str, inputs: Any, run_type: Any, **more: Any) -> None:
        self.spans.append((name, f"{inputs} {more.get('outputs')}"))

    def update_run(self, run_id: Any, name: str | None = None, **more: Any) -> None:
        self.spans.append((name or str(more.get("name", "")), f"{more.get('inputs')} {more.get('outputs')}"))


def gate_spans(client: Spans) -> list[tuple[str, str]]:
    return [span for span in client.spans if span[0].startswith("ToolGateMiddleware")]


def test_a_traced_run_works_and_the_gates_spans_hold_no_payload() -> None:
    ran, client = Recorder(), Spans()
    talk = chat([says(call("read", "r", word="s3same"))], [ran.tool("read", READ)])
    with tracing_context(enabled=True, client=client):
        talk.say()
    assert ran.names == ["read"]
    names = {name for name, _ in gate_spans(client)}
    assert {"ToolGateMiddleware.wrap_model_call", "ToolGateMiddleware.wrap_tool_call"} <= names
    assert any("s3same" in payload for _, payload in client.spans)
    assert not any("s3same" in payload for _, payload in gate_spans(client))


def test_a_traced_asynchronous_run_works_and_the_gates_spans_hold_no_payload() -> None:
    ran, client = Recorder(), Spans()
    talk = chat([says(call("read", "r", word="s3same"))], [ran.tool("read", READ)])

    async def run() -> None:
        with tracing_context(enabled=True, client=client):
            await talk.agent.ainvoke({"messages": [HumanMessage("go")]}, talk.config)

    asyncio.run(run())
    assert ran.names == ["read"]
    assert gate_spans(client)
    assert not any("s3same" in payload for _, payload in gate_spans(client))
