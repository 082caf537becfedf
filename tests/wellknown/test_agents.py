"""Agents with well-known tools behind the gate: asked for what is consequential, not for what only reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import FilesystemFileSearchMiddleware, ShellToolMiddleware, TodoListMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Chat, ScriptedModel, call, chat, says
from tests.wellknown.shipped import deep_agent, file_tools, sql_tools
from toolgate_langchain import Surface, ToolGate, ToolGateMiddleware

# LangChain's shell session does not close its pipes when it is stopped.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
with_a_shell = pytest.mark.usefixtures("pipes_stay_open")

TODOS = [{"content": "look", "status": "pending"}]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\n")
    return tmp_path


def langchain_chat(root: Path, *turns: AIMessage, surface: str = "chat", asynchronous: bool = False) -> Chat:
    gate = ToolGate(surfaces=[Surface("chat"), Surface("cron", attended=False)])
    middleware: list[Any] = [
        FilesystemFileSearchMiddleware(root_path=str(root)),
        ShellToolMiddleware(workspace_root=root),
        TodoListMiddleware(),
        ToolGateMiddleware(gate, surface=surface),
    ]
    return chat(turns, [], gate=gate, middleware=middleware, asynchronous=asynchronous)


def deep_chat(root: Path, *turns: AIMessage, surface: str = "chat", asynchronous: bool = False) -> Chat:
    gate = ToolGate(surfaces=[Surface("chat"), Surface("cron", attended=False)])
    model = ScriptedModel(script=list(turns))
    agent = deep_agent(
        root,
        model,
        middleware=[ToolGateMiddleware(gate, surface=surface)],
        subagents=gate.subagents(),
        checkpointer=InMemorySaver(),
    )
    return Chat(agent, model, gate, asynchronous=asynchronous)


@with_a_shell
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_searching_files_and_keeping_a_list_is_not_asked_about_and_a_shell_is(root: Path, asynchronous: bool) -> None:
    reads = says(call("grep_search", "g", pattern="one"), call("write_todos", "w", todos=TODOS))
    shell = says(call("shell", "s", command="touch made"))
    conversation = langchain_chat(root, reads, shell, asynchronous=asynchronous)
    conversation.say()
    assert [request.tool_name for request in conversation.requests] == ["shell"]
    assert conversation.request.tier == "consequential"
    assert conversation.request.remember == ()
    assert conversation.result("g") == "/a.txt"
    assert not (root / "made").exists()
    conversation.answer()
    assert (root / "made").exists()


@with_a_shell
def test_a_rejected_shell_command_is_not_run(root: Path) -> None:
    conversation = langchain_chat(root, says(call("shell", "s", command="touch made")))
    conversation.say()
    conversation.answer("reject")
    assert not (root / "made").exists()


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_deep_agent_reads_unasked_and_is_asked_about_before_it_writes_or_executes(
    root: Path, asynchronous: bool
) -> None:
    reads = says(
        call("grep", "g", pattern="one"), call("ls", "l", path="/"), call("read_file", "r", file_path="/a.txt")
    )
    writes = says(call("write_file", "w", file_path="/b.txt", content="x"), call("execute", "e", command="touch made"))
    conversation = deep_chat(root, reads, writes, asynchronous=asynchronous)
    conversation.say()
    assert "/a.txt" in conversation.result("g") and "one" in conversation.result("r")
    assert conversation.request.tool_name == "write_file"
    conversation.answer("reject")
    assert conversation.request.tool_name == "execute"
    assert {offer.what for offer in conversation.request.remember} == {"arguments"}
    conversation.answer()
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "made"]


def test_a_deep_agent_is_asked_about_before_it_starts_a_subagent(root: Path) -> None:
    task = says(call("task", "t", description="look", subagent_type="general-purpose"))
    conversation = deep_chat(root, task)
    conversation.say()
    assert [(request.tool_name, request.tier) for request in conversation.requests] == [("task", "consequential")]


@with_a_shell
@pytest.mark.parametrize(
    ("build", "offered"),
    [
        (langchain_chat, {"glob_search", "grep_search", "write_todos"}),
        (deep_chat, {"ls", "read_file", "glob", "grep", "check_async_task", "list_async_tasks"}),
    ],
)
def test_with_nobody_there_only_what_reads_is_offered(build: Any, offered: set[str], root: Path) -> None:
    conversation = build(root, AIMessage("hello"), surface="cron")
    conversation.say()
    assert [set(names) for names in conversation.model.offered] == [offered]


def test_the_community_toolkits_come_classified(root: Path) -> None:
    tools = [*file_tools(root), *sql_tools(root)]
    reads = says(call("read_file", "r", file_path="a.txt"), call("sql_db_list_tables", "l"))
    writes = says(call("sql_db_query", "q", query="CREATE TABLE t (n INTEGER)"), call("file_delete", file_path="a.txt"))
    conversation = chat([reads, writes], tools)
    conversation.say()
    assert conversation.result("r") == "one\n"
    assert [(request.tool_name, request.tier, request.of) for request in conversation.requests] == [
        ("sql_db_query", "consequential", 2)
    ]
