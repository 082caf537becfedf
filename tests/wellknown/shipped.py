"""The tools that the packages really ship, built for real, and a list of them that their sources tell."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox
from deepagents.middleware.summarization import create_summarization_tool_middleware
from langchain.agents.middleware import FilesystemFileSearchMiddleware, ShellToolMiddleware, TodoListMiddleware
from langchain.agents.middleware.todo import write_todos
from langchain_core.tools import BaseTool
from sqlalchemy.pool import NullPool

from tests.support import ScriptedModel


def community(module: str) -> ModuleType:
    """A module of langchain-community, which says once per process that it is no longer maintained."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`langchain-community` is being sunset", DeprecationWarning)
        return import_module(f"langchain_community.{module}")


class Bash:
    """What `ShellTool` runs its commands with; the class it expects is in a package of experiments."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, commands: str | Sequence[str]) -> str:
        """Run commands one after the other."""
        text = commands if isinstance(commands, str) else "\n".join(commands)
        return subprocess.run(["bash", "-c", text], cwd=self.root, capture_output=True, text=True, check=False).stdout


_WITH_THIS_PYTHON = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
"""The `python3` of a sandbox's commands is the one that runs here; another may be a script that looks for one first."""


class CommandSandbox(BaseSandbox):
    """A sandbox without walls: it does everything by commands, as sandboxes do, on this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def id(self) -> str:
        return str(self.root)

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env=_WITH_THIS_PYTHON,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        return ExecuteResponse(output=done.stdout + done.stderr, exit_code=done.returncode)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        for path, content in files:
            Path(path).write_bytes(content)
        return [FileUploadResponse(path=path) for path, _ in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path=path, content=Path(path).read_bytes()) for path in paths]


def langchain_tools(root: Path) -> list[BaseTool]:
    """All tools of LangChain's own middleware, working on `root`."""
    search = FilesystemFileSearchMiddleware(root_path=str(root))
    shell = ShellToolMiddleware(workspace_root=root)
    return [*TodoListMiddleware().tools, write_todos, *search.tools, *shell.tools]


def deep_agent(root: Path, model: ScriptedModel, **more: Any) -> Any:
    """A deep agent with everything that brings tools, on the backend that can do most: this machine."""
    backend = LocalShellBackend(root_dir=root, virtual_mode=True)
    remote: Any = {"name": "remote", "description": "far away", "graph_id": "g", "url": "http://127.0.0.1:9"}
    compact: Any = create_summarization_tool_middleware(model, backend)
    return create_deep_agent(
        model,
        backend=backend,
        subagents=[remote, *more.pop("subagents", ())],
        middleware=[compact, *more.pop("middleware", ())],
        **more,
    )


def deepagents_tools(root: Path) -> list[BaseTool]:
    """The tools of a deep agent, as its tool node has them."""
    return list(deep_agent(root, ScriptedModel()).nodes["tools"].bound.tools_by_name.values())


def file_tools(root: Path) -> list[BaseTool]:
    """The toolkit for files, below `root`."""
    toolkit = community("agent_toolkits.file_management.toolkit").FileManagementToolkit(root_dir=str(root))
    return list(toolkit.get_tools())


def sql_tools(root: Path) -> list[BaseTool]:
    """The SQL toolkit on the database file `data.db` below `root`."""
    # Without a pool, which would keep connections open that nobody closes.
    made = community("utilities.sql_database").SQLDatabase
    database = made.from_uri(f"sqlite:///{root / 'data.db'}", engine_args={"poolclass": NullPool})
    toolkit = community("agent_toolkits.sql.toolkit").SQLDatabaseToolkit(db=database, llm=ScriptedModel())
    return list(toolkit.get_tools())


def spark_tools(_: Path) -> list[BaseTool]:
    """The Spark SQL toolkit, made without Spark: they cannot be run."""
    return [
        kind.model_construct(name=kind.model_fields["name"].default, description="x")
        for kind in tool_classes("tools.spark_sql")
    ]


def shell_tools(root: Path) -> list[BaseTool]:
    """The shell tool, with a real shell."""
    return [community("tools.shell.tool").ShellTool(process=Bash(root))]


def requests_tools(_: Path) -> list[BaseTool]:
    """The toolkit for HTTP requests."""
    wrapper = community("utilities.requests").TextRequestsWrapper()
    toolkit = community("agent_toolkits.openapi.toolkit").RequestsToolkit(
        requests_wrapper=wrapper, allow_dangerous_requests=True
    )
    return list(toolkit.get_tools())


def browser_tools(_: Path) -> list[BaseTool]:
    """The browser tools, made without the check that there is a browser: they cannot be run."""
    return [
        kind.model_construct(name=kind.model_fields["name"].default, description="x")
        for kind in tool_classes("tools.playwright")
    ]


COMMUNITY: dict[str, Callable[[Path], list[BaseTool]]] = {
    "tools.file_management": file_tools,
    "tools.sql_database": sql_tools,
    "tools.spark_sql": spark_tools,
    "tools.shell": shell_tools,
    "tools.requests": requests_tools,
    "tools.playwright": browser_tools,
}
"""How to build the tools of each part of langchain-community that was looked at."""


def community_tools(root: Path) -> list[BaseTool]:
    """The tools of all these toolkits."""
    return [tool for build in COMMUNITY.values() for tool in build(root)]


def tool_classes(package: str) -> list[type[BaseTool]]:
    """The tool classes that the modules of one part of langchain-community define, not those of bases."""
    folder = Path(str(community(package).__file__)).parent
    modules = [community(f"{package}.{file.stem}") for file in sorted(folder.glob("[!_]*.py"))]
    defined = [(module, value) for module in modules for value in vars(module).values() if isinstance(value, type)]
    return [
        value
        for module, value in defined
        if issubclass(value, BaseTool) and value.__module__ == module.__name__ and "name" in value.model_fields
        if not value.model_fields["name"].is_required()
    ]


# --- what the sources tell ------------------------------------------------------------------------


def code_of_tools(package: str) -> set[str]:
    """Every function that a package's sources make a tool of, and every tool class, as `module:qualname`."""
    top = Path(str(import_module(package).__file__)).parent
    found: set[str] = set()
    for file in top.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if not _OF_TOOLS.search(text):
            continue  # most files of a large package, each of which would take a while to parse
        parts = file.relative_to(top).with_suffix("").parts
        module = ".".join([package, *(part for part in parts if part != "__init__")])
        found |= {f"{module}:{name}" for name in _tools_in(ast.parse(text), [])}
    return found


_TOOL_CLASSES = frozenset({"BaseTool", "StructuredTool", "Tool"})
_OF_TOOLS = re.compile("tool|Tool|from_function")
"""What stands in every source that makes one."""

Scope = tuple[str, bool, frozenset[str]]
"""A name, whether it is a function (and not a class), and the functions defined right there."""


def _tools_in(node: ast.AST, scopes: list[Scope]) -> Iterator[str]:
    here = frozenset(n.name for n in _own(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    if not scopes:
        scopes = [("", False, here)]
    for child in _own(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(_name(decorator) == "tool" for decorator in child.decorator_list):
                yield _qualname(child.name, scopes)
        elif isinstance(child, ast.Call) and _name(child) in {"from_function", *_TOOL_CLASSES}:
            for keyword in child.keywords:
                if keyword.arg in ("func", "coroutine") and isinstance(keyword.value, ast.Name):
                    yield _qualname(keyword.value.id, scopes)
        elif isinstance(child, ast.ClassDef) and any(_name(base) in _TOOL_CLASSES for base in child.bases):
            yield _qualname(child.name, scopes)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = frozenset(n.name for n in _own(child) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from _tools_in(child, [*scopes, (child.name, not isinstance(child, ast.ClassDef), inner)])


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node, down to functions and classes, which have a scope of their own."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own(child)


def _name(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _qualname(name: str, scopes: list[Scope]) -> str:
    """The `__qualname__` of a function that is called `name` where these scopes are open."""
    while len(scopes) > 1 and name not in scopes[-1][2]:
        scopes = scopes[:-1]
    parts = [part + (".<locals>" if function else "") for part, function, _ in scopes[1:]]
    return ".".join([*parts, name])
