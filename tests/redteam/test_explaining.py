"""`explain` consumes no grant, writes nothing, and calls no heuristic that has side effects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Recorder, call, chat, says
from toolgate_langchain import InMemoryLedger, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.policy.arguments import PolicyAnswer

SEND = ToolProfile(tier=Tier.CONSEQUENTIAL)


class Watched(InMemoryLedger):
    """A ledger in memory that says when anybody turns to it."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "touched":
            self.touched.append(name)
        return super().__getattribute__(name)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("how", ["explain", "decide"])
def test_an_approved_call_that_is_explained_before_it_runs_still_has_its_grant(asynchronous: bool, how: str) -> None:
    ran, ledger, heard = Recorder(), Watched(), list[str]()

    def heuristic(made: Any, _: object) -> bool:
        heard.append(made["id"])
        return False

    gate = ToolGate(
        ledger=ledger, heuristics=[heuristic], argument_policies=[lambda _: PolicyAnswer(Verdict.ALLOW, "fine")]
    )
    made = call("send", "s", to="ann")
    talk = chat(
        [says(made)], [ran.tool("send", SEND)], gate=gate, agent={"interrupt_before": ["tools"]},
        asynchronous=asynchronous,
    )  # fmt: skip
    talk.say()
    talk.answer()
    saved = talk.agent.get_state(talk.config)
    version = gate.catalog.version
    ledger.touched.clear()
    for _ in range(3):
        decision = getattr(gate, how)(made, surface="chat")
        assert decision.verdict is Verdict.ASK
    assert ledger.touched == []
    assert heard == ["s"]
    assert (gate.catalog.version, talk.agent.get_state(talk.config)) == (version, saved)
    assert ran.runs == []
    talk.invoke(None)
    assert (ran.runs, talk.result("s")) == ([("send", {"to": "ann"})], "ran send")
    assert ledger.touched != []  # the positive control: what the run does is seen
