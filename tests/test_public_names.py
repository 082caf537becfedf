"""The package's face: what it exports, and what importing it costs."""

import json
import subprocess
import sys
from importlib import import_module

import pytest

import toolgate_langchain

LIGHT = ["Tier", "ToolProfile", "ToolCatalog", "Surface", "ApprovalRule", "StandingRule", "ApprovalAnswer", "ToolGate"]
HEAVY = ["langchain", "langgraph"]


def loaded_after(statement: str) -> set[str]:
    """The top-level packages that a new process has loaded after a statement."""
    listing = "import sys, json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    code = f"{statement}\n{listing}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_nothing_else() -> None:
    loaded = loaded_after("import toolgate_langchain")
    assert loaded.isdisjoint({*HEAVY, "langchain_core", "pydantic", "rich"})


def test_langchain_and_langgraph_are_not_loaded_until_a_host_that_needs_them_is_named() -> None:
    assert loaded_after(f"from toolgate_langchain import {', '.join(LIGHT)}").isdisjoint(HEAVY)
    assert set(HEAVY) <= loaded_after("from toolgate_langchain import ToolGateMiddleware")


@pytest.mark.parametrize("name", toolgate_langchain.__all__)
def test_every_name_that_is_exported_exists_where_it_is_written(name: str) -> None:
    value = getattr(toolgate_langchain, name)
    module = import_module(f"toolgate_langchain.{toolgate_langchain._WHERE[name]}")
    assert value is getattr(module, name)


def test_what_is_not_exported_is_not_there() -> None:
    assert dir(toolgate_langchain) == sorted(toolgate_langchain.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'ToolGates'"):
        _ = toolgate_langchain.ToolGates
