"""The page on arguments: its code runs, and does what it says."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support import Recorder, call
from toolgate_langchain import Caller, EgressPolicy, Surface, Tier, ToolCatalog, ToolGate, ToolProfile
from toolgate_langchain.approvals import ready_heuristics
from toolgate_langchain.approvals.heuristics import HeuristicContext

PAGE = (Path(__file__).parents[2] / "docs" / "arguments.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


class NoTools:
    """Stands where the page has a toolkit of the reader's."""

    def get_tools(self) -> list[Any]:
        return []


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the page's code makes, in folders of its own."""
    data = tmp_path_factory.mktemp("data")
    (data / "drafts").mkdir()
    names: dict[str, Any] = {"toolkit": NoTools(), "file_toolkit": NoTools(), "data": data}
    for block in BLOCKS:
        exec(compile(block.replace("/srv/data", str(data)), "arguments.md", "exec"), names)
    return names


def test_addresses_are_checked_as_the_page_says(page: dict[str, Any]) -> None:
    gate = ToolGate(ToolCatalog.from_tools([page["read_page"]]), argument_policies=[page["egress"]])
    urls = {"/x": "allow", "https://www.example.com/": "allow", "//x": "deny", "https://search.example.com/": "deny"}
    said = {url: gate.decide(call("read_page", url=url), surface="chat").verdict.value for url in urls}
    assert said == urls
    assert page["egress"].resolve("https://search.example.com") is not None
    assert page["egress"].resolve("http://search.example.com") is None
    assert page["search"].invoke({"core": "\n", "query": "x"}) == "not configured"


class Pages(BaseHTTPRequestHandler):
    """`/to/X` leads to X, `/round` to itself, everything else is a page."""

    def do_GET(self) -> None:
        lead = self.path.removeprefix("/to/") if self.path.startswith("/to/") else ""
        self.send_response(302 if lead or self.path == "/round" else 200)
        self.send_header("Location", lead or self.path)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def servers() -> Iterator[tuple[str, str]]:
    """The addresses of two servers."""
    started = [ThreadingHTTPServer(("127.0.0.1", 0), Pages) for _ in range(2)]
    for server in started:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{started[0].server_port}", f"http://127.0.0.1:{started[1].server_port}"
    for server in started:
        server.shutdown()
        server.server_close()


def test_a_fetching_tool_checks_each_hop_again(page: dict[str, Any], servers: tuple[str, str]) -> None:
    own, other = servers
    egress, fetch = EgressPolicy(endpoints=[own]), page["fetch_within"]
    assert fetch(egress, f"{own}/a") == fetch(egress, f"{own}/to//a") == fetch(egress, f"{own}/to/{own}/a") == "page"
    assert fetch(EgressPolicy(endpoints=[own, other]), f"{own}/to/{other}/a") == "page"
    refused = "Error: this leads to an address that is not configured"
    assert fetch(egress, f"{own}/to/{other}/a") == fetch(egress, f"{other}/a") == refused
    assert fetch(egress, f"{own}/to/file:///etc/passwd") == refused
    assert fetch(egress, f"{own}/round") == "Error: too many redirects"


@pytest.mark.parametrize(
    ("caller", "usable"),
    [(Caller("ann"), ["orders", "products"]), (Caller("bob"), ["products"]), (None, []),
     (Caller("root", admin=True), ["orders", "products", "salaries"])],
    ids=str,
)  # fmt: skip
def test_tables_are_used_as_the_page_says(page: dict[str, Any], caller: Caller | None, usable: list[str]) -> None:
    assert page["tables"].visible(caller, ["orders", "products", "salaries", "api_tokens"]) == usable


@pytest.mark.parametrize(
    ("command", "unasked"),
    [("git log --oneline src | ls", True), ("git status", True), ("git log -p", False), ("git log > x", False),
     ("LD_PRELOAD=x git log", False), ("./ls", False)],
)  # fmt: skip
def test_commands_are_asked_about_as_the_page_says(page: dict[str, Any], command: str, unasked: bool) -> None:
    tool = Recorder().tool("terminal", ToolProfile(tier=Tier.CONSEQUENTIAL))
    entry = ToolCatalog.from_tools([tool]).get("terminal")
    assert entry is not None
    block = next(block for block in BLOCKS if "AllowedCommand" in block)
    names = dict(page)
    exec(compile(block.replace("/srv/data", str(page["data"])), "arguments.md", "exec"), names)
    shell = names["gate"].judge.heuristics[1]
    assert shell(call("terminal", commands=command), HeuristicContext(entry, Surface("chat"), None)) is unasked
    assert names["gate"].rulebook.argument_policies == (page["no_removing"],)


@pytest.mark.parametrize(("amount", "said"), [(500, "allow"), (501, "ask"), (10_001, "deny"), ("many", "deny")])
def test_the_pages_own_policy_answers_as_it_says(page: dict[str, Any], amount: Any, said: str) -> None:
    pay, note = (Recorder().tool(name, ToolProfile(tier=Tier.READ_ONLY)) for name in ("pay", "write_note"))
    policies = [page["large_payments"], page["own_folder"]]
    gate = ToolGate(ToolCatalog.from_tools([pay, note]), argument_policies=policies)
    assert gate.decide(call("pay", amount=amount), surface="chat").verdict.value == said
    for folder, verdict in (("ann", "allow"), ("bob", "deny")):
        decided = gate.decide(call("write_note", folder=folder), surface="chat", caller=Caller("ann"))
        assert decided.verdict.value == verdict


def test_the_page_names_every_ready_heuristic() -> None:
    for name in ready_heuristics.__all__:
        assert f"`{name}`" in PAGE or f"{name}(" in PAGE
