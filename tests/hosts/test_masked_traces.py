"""What is sensitive does not reach a tracer that asks the gate's package what to leave out, on any host."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langsmith import Client, tracing_context

from tests.support import Recorder, call, says
from toolgate_langchain import Tier, ToolGate, ToolProfile, mask_traces
from toolgate_langchain.policy.sensitive import MASK
from toolgate_langchain.testing import all_hosts
from toolgate_langchain.testing.hosts import Setup

HOSTS = all_hosts()
NAMES = [f"{host.name}, {'async' if host.asynchronous else 'sync'}" for host in HOSTS]
SECRET = "hunter2-and-more"


class Spans(Client):
    """A tracing client that keeps what it would send."""

    def __init__(self, **options: Any) -> None:
        super().__init__(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False, **options)
        self.kept: list[str] = []

    def _keep(self, inputs: Any, outputs: Any) -> None:
        self.kept += [str(self._hide_run_inputs(inputs or {})), str(self._hide_run_outputs(outputs or {}))]

    def create_run(self, name: str, inputs: Any, run_type: Any, **more: Any) -> None:
        self._keep(inputs, more.get("outputs"))

    def update_run(self, run_id: Any, name: str | None = None, **more: Any) -> None:
        self._keep(more.get("inputs"), more.get("outputs"))


def traced(position: int, client: Spans) -> str:
    ran = Recorder()
    script = [says(call("send", "a", to="ann", api_key=SECRET), call("send", "b", api_key=SECRET)), says(text="done")]
    tools = [ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL))]
    talk = HOSTS[position].start(Setup(gate=ToolGate(), script=script, tools=tools, surface="chat"))
    with tracing_context(enabled=True, client=client):
        talk.say("go")
        assert SECRET in talk.requests[0].description(), "the approver sees it"
        talk.answer({"type": "approve", "request_id": talk.requests[0].request_id})
        edited = {"name": "send", "args": {"api_key": SECRET, "to": "bob"}}
        talk.answer({"type": "edit", "request_id": talk.requests[0].request_id, "edited_action": edited})
    assert [arguments["api_key"] for _, arguments in ran.runs] == [SECRET, SECRET], "the tool gets it"
    return "\n".join(client.kept)


@pytest.mark.parametrize("position", range(len(HOSTS)), ids=NAMES)
def test_no_span_of_a_run_holds_it(position: int) -> None:
    told = traced(position, Spans(hide_inputs=mask_traces, hide_outputs=mask_traces))
    assert MASK in told and "ann" in told
    assert "A person replaced the arguments" in told, "what the model reads after an edit is among it"
    assert SECRET not in told


def test_the_control_without_it_the_spans_hold_it() -> None:
    assert SECRET in traced(0, Spans())


def test_messages_and_json_in_a_text_are_looked_into_and_the_rest_stays() -> None:
    payload: dict[str, Any] = {
        "messages": [AIMessage("hello", tool_calls=[call("send", "a", token=SECRET, to="ann")])],
        "input": '{"token": "hunter2", "to": ["ann"]}',
        "text": "{not json",
        "result": ToolMessage("done", tool_call_id="a"),
    }
    hidden = mask_traces(payload)
    assert hidden["messages"][0]["tool_calls"][0]["args"] == {"token": MASK, "to": "ann"}
    assert hidden["input"] == f'{{"token": "{MASK}", "to": ["ann"]}}'
    assert (hidden["text"], hidden["result"]["content"]) == ("{not json", "done")
    assert isinstance(payload["messages"][0], AIMessage), "what was given is not changed"
