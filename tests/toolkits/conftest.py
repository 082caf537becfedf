"""Toolkits on a real database and a real folder, and calls of their tools for one caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from sqlalchemy import create_engine, text
from sqlalchemy.pool import StaticPool

from tests.wellknown.shipped import community
from toolgate_langchain import Caller, Surface, ToolGate
from toolgate_langchain.approvals.turn import Run
from toolgate_langchain.hosts.engine.parent_run import ParentRun
from toolgate_langchain.policy.context import RunContext

ADMIN, ANN, BOB = Caller("root", admin=True), Caller("ann"), Caller("bob")

_GATE = ToolGate()


@dataclass
class Calls:
    """Calls of guarded tools, as inside of a run for one caller."""

    tools: Sequence[BaseTool]

    def __call__(self, caller: Caller | None, name: str, /, **arguments: Any) -> str:
        """The result of one call."""
        (tool,) = [tool for tool in self.tools if tool.name == name]
        run = Run("run", RunContext(Surface("chat"), caller))
        with ParentRun(_GATE, run, name):
            return str(tool.invoke(arguments))


@pytest.fixture
def calls() -> Callable[[Sequence[BaseTool]], Calls]:
    return Calls


@pytest.fixture
def database() -> Iterator[Any]:
    """A `SQLDatabase` with an open table, one for administrators, a denied one that it refers to, and a view."""
    # A pool of one connection, so that the database is one and is closed at the end.
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE vault (id INTEGER PRIMARY KEY, word TEXT)",
            "CREATE TABLE salaries (id INTEGER PRIMARY KEY, amount INTEGER)",
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, vault_id INTEGER REFERENCES vault (id))",
            "INSERT INTO vault VALUES (1, 'sesame')",
            "INSERT INTO salaries VALUES (1, 1000)",
            "INSERT INTO orders VALUES (1, 'apples', 1), (2, 'pears', 1)",
        ):
            connection.execute(text(statement))
    yield community("utilities.sql_database").SQLDatabase(engine)
    engine.dispose()


@pytest.fixture
def sql_tools(database: Any) -> list[BaseTool]:
    tools = community("tools.sql_database.tool")
    kinds = (tools.QuerySQLDatabaseTool, tools.InfoSQLDatabaseTool, tools.ListSQLDatabaseTool)
    return [kind(db=database) for kind in kinds]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with files, a denied folder in it, and links inside, outside and in a circle."""
    root = tmp_path / "root"
    for folder in ("docs/deep", "private", "pay"):
        (root / folder).mkdir(parents=True)
    for name in ("docs/a.txt", "docs/deep/b.txt", "private/key.txt", "pay/may.txt", "top.txt"):
        (root / name).write_text(f"this is {name}")
    (tmp_path / "outside.txt").write_text("this is outside")
    (root / "docs" / "inside").symlink_to(root / "top.txt")
    (root / "docs" / "out").symlink_to(tmp_path / "outside.txt")
    (root / "docs" / "up").symlink_to("../..")
    (root / "docs" / "hidden").symlink_to(root / "private" / "key.txt")
    (root / "docs" / "circle").symlink_to(root / "docs" / "circle")
    return root


@pytest.fixture
def file_tools(root: Path) -> list[BaseTool]:
    made: list[BaseTool] = community("agent_toolkits").FileManagementToolkit(root_dir=str(root)).get_tools()
    return made
