"""The ways in which a hand-written graph is put together, run and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from toolgate_langchain import (
    Tier,
    ToolProfile,
)

READ, ROUTINE = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.ROUTINE)


@pytest.fixture(params=["own tasks", "one task", "no start node", "async"])
def how(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {
        "sends": request.param != "one task",
        "start": request.param != "no start node",
        "asynchronous": request.param == "async",
    }


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as made:
        yield made
