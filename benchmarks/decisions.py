"""What more standing rules and more tools cost: nothing that grows with them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.runtime import Runtime
from pydantic import BaseModel

from benchmarks.agents import BriefModel, make_tools, question
from benchmarks.measure import compare
from benchmarks.table import Row
from toolgate_langchain import Decision, StandingRule, Tier, ToolCatalog, ToolGate, ToolGateMiddleware, tool_profile
from toolgate_langchain.approvals.rules import RuleIndex, RuleView
from toolgate_langchain.approvals.turn import Run
from toolgate_langchain.hosts.engine.run_state import RUN, write_run
from toolgate_langchain.policy.context import CallFacts, RunMemory
from toolgate_langchain.policy.decide import ProposedCall, decide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["measure_offering", "measure_rules", "rules_for"]

_NOW = datetime(2026, 1, 2, tzinfo=UTC)
_CALLS = 2_000
"""Decisions of one timed round."""

_TOOLS = 10_000
_TURNS = 50
"""Turns of one timed round of offering."""


def rules_for(gate: ToolGate, number: int) -> list[StandingRule]:
    """Rules for exact arguments of one tool, all different."""
    entry = gate.catalog.get("send_email")
    assert entry is not None
    return [
        StandingRule(
            tool_name=entry.name,
            arguments={"to": f"person{i}@example.com", "subject": "Hello", "body": "How are you?"},
            fingerprint=entry.fingerprint,
            tier=entry.tier,
            surface="chat",
            created_at=_NOW,
        )
        for i in range(number)
    ]


def measure_rules(*, rounds: int) -> Iterator[Row]:
    """`decide` with 100,000 rules against `decide` with ten, the index built beforehand."""
    gate = ToolGate(catalog=ToolCatalog.from_tools(make_tools(askable=True)))
    context, entry = gate.context("chat"), gate.catalog.get("send_email")
    all_rules = rules_for(gate, 100_000)
    views = {
        number: RuleView(RuleIndex(all_rules[:number]), surface="chat", agent_path=(), run_id="", now=_NOW)
        for number in (10, 100_000)
    }

    def calls(number: int, to: str) -> Callable[[], Decision]:
        proposed = ProposedCall.of("send_email", {"to": to, "subject": "Hello", "body": "How are you?"}, entry)

        def run() -> Decision:
            last = None
            for _ in range(_CALLS):
                last = decide(proposed, context, gate.rulebook, views[number], RunMemory(), CallFacts())
            assert last is not None
            return last

        return run

    for what, to, code in (
        ("a rule matches", "person5@example.com", "standing_rule"),
        ("none matches", "nobody@example.com", "approval_required"),
    ):
        things = {number: calls(number, to) for number in views}
        assert all(thing().code == code for thing in things.values())
        timings = compare({str(number): thing for number, thing in things.items()}, rounds=rounds)
        low, middle, high = timings.ratio("100000", "10")
        yield Row(
            section="decide",
            what=f"100,000 standing rules / ten, {what}",
            figure=f"{middle:.3f}",
            spread=f"{low:.3f}-{high:.3f}",
            detail=f"{timings.median('100000') / _CALLS * 1e6:.1f} / {timings.median('10') / _CALLS * 1e6:.1f} us each",
            bound="1.20",
            held=middle <= 1.20,
        )


class _NoArguments(BaseModel):
    pass


def _many_tools() -> list[BaseTool]:
    """Every other one in the group `even`."""

    def run() -> str:
        return ""

    read = tool_profile(tier=Tier.READ_ONLY, groups={"even"})
    send = tool_profile(tier=Tier.CONSEQUENTIAL, groups={"odd"})
    return [
        (send if i % 2 else read)(
            StructuredTool(name=f"tool_{i}", description=f"Tool {i}.", func=run, args_schema=_NoArguments)
        )
        for i in range(_TOOLS)
    ]


def measure_offering(*, rounds: int) -> Iterator[Row]:
    """The whole of the hook around a model call that offers from 10,000 tools and answers without a call."""
    tools = _many_tools()
    answer: ModelResponse[Any] = ModelResponse(result=[AIMessage("done", id="m1")])
    for what, disabled in (("all are offered", ()), ("half of them are offered", ("odd",))):
        gate = ToolGate(catalog=ToolCatalog.from_tools(tools, disabled_groups=disabled))
        middleware = ToolGateMiddleware(gate, surface="cli")
        state: Any = {**question(), RUN: write_run(Run("run", gate.context("cli")))}
        request = ModelRequest(
            model=BriefModel(), messages=state["messages"], tools=list(tools), state=state, runtime=Runtime()
        )
        offered: list[int] = []

        def see(given: ModelRequest[Any], offered: list[int] = offered) -> ModelResponse[Any]:
            offered.append(len(given.tools))
            return answer

        start = time.perf_counter()
        middleware.wrap_model_call(request, see)
        first = time.perf_counter() - start
        assert offered == [_TOOLS // 2 if disabled else _TOOLS]

        def turns(middleware: ToolGateMiddleware = middleware, request: Any = request) -> None:
            for _ in range(_TURNS):
                middleware.wrap_model_call(request, lambda _: answer)

        timings = compare({"turns": turns}, rounds=rounds)
        each = [one / _TURNS * 1e3 for one in timings.wall["turns"]]
        middle = timings.median("turns") / _TURNS * 1e3
        yield Row(
            section="offering",
            what=f"a turn after the first, 10,000 tools, {what}",
            figure=f"{middle:.3f} ms",
            spread=f"{min(each):.3f}-{max(each):.3f}",
            detail=f"spread is least to most; first turn {first * 1e3:.1f} ms",
            bound="1 ms",
            held=middle <= 1.0,
        )
