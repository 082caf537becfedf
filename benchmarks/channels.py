"""How large the gate's part of the state is, how often it is written, and what a checkpoint weighs."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.agents import GATE, NO_GATE, TURNS, BriefModel, make_agent, make_tools, question
from benchmarks.decisions import rules_for
from benchmarks.table import Row
from toolgate_langchain import ApprovalAnswer, ApprovalRequest, InMemoryLedger, ToolCatalog, ToolGate, drive
from toolgate_langchain.hosts.engine.run_state import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langgraph.checkpoint.base import BaseCheckpointSaver

__all__ = ["measure_channels", "measure_checkpoints"]

_LENGTHS = (1, 10, 100)
_THREAD = "thread"
_CONFIG = {"configurable": {"thread_id": _THREAD}, "recursion_limit": 1_000}


def measure_channels() -> Iterator[Row]:
    """Serialise the gate's channels after runs of 1, 10 and 100 turns, with 0, 200 and 500 rules."""
    for asked, rules in ((False, 0), (False, 200), (False, 500), (True, 0)):
        sizes, writes = [], {}
        for turns in _LENGTHS:
            saver = InMemorySaver()
            _run(saver, turns=turns, rules=rules, asked=asked)
            values = saver.get_tuple(_CONFIG).checkpoint["channel_values"]  # type: ignore[union-attr,arg-type]
            ours = {name: value for name, value in values.items() if name in CHANNELS}
            sizes.append(sum(len(JsonPlusSerializer().dumps_typed(value)[1]) for value in ours.values()))
            writes = _writes(saver)
        what = "each turn asks once" if asked else "no call needs asking"
        # What differs between turns is a number in an argument or two.
        constant = max(sizes) - min(sizes) <= 8
        seldom = asked or all(count <= 1 for count in writes.values())
        yield Row(
            section="channels",
            what=f"bytes after {', '.join(map(str, _LENGTHS))} turns, {rules} rules, {what}",
            figure=", ".join(f"{size:,}" for size in sizes),
            detail="written in 100 turns: " + ", ".join(f"{name} {count}" for name, count in sorted(writes.items())),
            bound="constant" + ("" if asked else ", unchanged ones not written again"),
            held=constant and seldom,
        )


def measure_checkpoints() -> Iterator[Row]:
    """What SQLite stores for a run, with and without the gate."""
    stored = {
        "no gate": _stored(gated=False, rules=0),
        "gate": _stored(gated=True, rules=0),
        "gate, 200 rules": _stored(gated=True, rules=200),
        "gate, 500 rules": _stored(gated=True, rules=500),
    }
    for name, (checkpoints, each, total) in stored.items():
        yield Row(
            section="checkpoints",
            what=f"SQLite, {TURNS} turns, {name}",
            figure=f"{each:,} bytes each",
            detail=f"{checkpoints} checkpoints, {total:,} bytes with the writes",
        )


def _run(saver: BaseCheckpointSaver[Any], *, turns: int, rules: int, asked: bool) -> None:
    ledger = InMemoryLedger()
    gate = ToolGate(ledger=ledger)
    known = ToolGate(catalog=ToolCatalog.from_tools(make_tools(askable=True)))
    for rule in rules_for(known, rules):
        ledger.add_thread_rule(_THREAD, rule)
    agent = make_agent(GATE, saver, model=BriefModel(turns=turns, asked=asked), gate=gate)

    def approve(request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(type="approve", request_id=request.request_id)

    drive(agent, question(), _CONFIG, approver=approve)


def _writes(saver: InMemorySaver) -> dict[str, int]:
    """How many versions of each of the gate's channels the thread's checkpoints hold."""
    versions: dict[str, set[object]] = {}
    for saved in saver.list(_CONFIG):  # type: ignore[arg-type]
        for name, version in saved.checkpoint["channel_versions"].items():
            if name in CHANNELS:
                versions.setdefault(name, set()).add(version)
    return {name: len(found) for name, found in versions.items()}


def _stored(*, gated: bool, rules: int) -> tuple[int, int, int]:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    saver = SqliteSaver(connection)
    if gated:
        _run(saver, turns=TURNS, rules=rules, asked=False)
    else:
        make_agent(NO_GATE, saver).invoke(question(), _CONFIG)
    number, each, total = connection.execute(
        "SELECT count(*), avg(length(checkpoint)), sum(length(checkpoint) + length(metadata)) FROM checkpoints"
    ).fetchone()
    (writes,) = connection.execute("SELECT coalesce(sum(length(value)), 0) FROM writes").fetchone()
    connection.close()
    return number, round(each), total + writes
