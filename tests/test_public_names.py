"""The package's face: what it exports, and what importing it costs."""

import json
import subprocess
import sys
from importlib import import_module

import pytest

import toolgate_langchain

LIGHT = [
    "Tier",
    "InMemoryLedger",
    "ToolProfile",
    "ToolCatalog",
    "Surface",
    "ApprovalRule",
    "StandingRule",
    "ApprovalAnswer",
    "ToolGate",
]
HEAVY = ["langchain", "langgraph"]


STATEMENTS = {
    "the package": "import toolgate_langchain",
    "light names": f"from toolgate_langchain import {', '.join(LIGHT)}",
    "a host": "from toolgate_langchain import ToolGateMiddleware",
}
"""One after the other; each loads what those before it have loaded, and more."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The top-level packages that a new process has loaded after each statement."""
    listing = "listings.append(sorted({name.partition('.')[0] for name in sys.modules}))"
    lines = [line for statement in STATEMENTS.values() for line in (statement, listing)]
    code = "\n".join(["import sys", "listings = []", *lines, "import json", "print(json.dumps(listings))"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return {name: set(listing) for name, listing in zip(STATEMENTS, json.loads(done.stdout), strict=True)}


def test_importing_the_package_loads_nothing_else(loaded: dict[str, set[str]]) -> None:
    assert loaded["the package"].isdisjoint({*HEAVY, "langchain_core", "pydantic", "rich"})


def test_sqlalchemy_is_not_loaded_before_a_sql_ledger_is_named(loaded: dict[str, set[str]]) -> None:
    assert "sqlalchemy" not in loaded["light names"]


def test_langchain_and_langgraph_are_not_loaded_until_a_host_that_needs_them_is_named(
    loaded: dict[str, set[str]],
) -> None:
    assert loaded["light names"].isdisjoint(HEAVY)
    assert set(HEAVY) <= loaded["a host"]


@pytest.mark.parametrize("name", toolgate_langchain.__all__)
def test_every_name_that_is_exported_exists_where_it_is_written(name: str) -> None:
    value = getattr(toolgate_langchain, name)
    module = import_module(f"toolgate_langchain.{toolgate_langchain._WHERE[name]}")
    assert value is getattr(module, name)


def test_a_star_imports_all_that_the_base_install_can_load_and_nothing_that_fails() -> None:
    """Of the names that need an extra, each says which one when it is used."""
    code = """
import json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"langchain", "langgraph", "rich", "sqlalchemy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from toolgate_langchain import *
import toolgate_langchain

failed = {}
for name in toolgate_langchain._WHERE:
    try:
        getattr(toolgate_langchain, name)
    except ImportError as error:
        failed[name] = getattr(error, "extra", None)
named = toolgate_langchain.__all__
print(json.dumps([sorted(named), sorted(set(named) - set(globals())), failed]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    named, missing, failed = json.loads(done.stdout)
    assert missing == []
    assert sorted({*named, *failed}) == sorted(toolgate_langchain.__all__)
    assert failed == {
        "SqlLedger": "sql",
        **dict.fromkeys(["ToolGateMiddleware", "gate_subagents"], "agents"),
        **dict.fromkeys(["adrive", "aresume_answered", "drive", "pending_requests", "resume_answered"], "agents"),
    }
    assert set(failed).isdisjoint(named)


def test_what_a_user_has_to_catch_is_named_beside_what_raises_it() -> None:
    for name in ("ToolGateError", "ConfigurationError", "SessionError", "TurnLimitReached", "LedgerError"):
        assert getattr(toolgate_langchain, name) is getattr(import_module("toolgate_langchain.errors"), name)


def test_what_is_not_exported_is_not_there() -> None:
    assert dir(toolgate_langchain) == sorted(toolgate_langchain.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'ToolGates'"):
        _ = toolgate_langchain.ToolGates
