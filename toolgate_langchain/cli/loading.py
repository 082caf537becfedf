"""Finding what `MODULE:AGENT` or `MODULE:GATE` names."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from langgraph.pregel import Pregel

from toolgate_langchain.errors import ConfigurationError

__all__ = ["load", "load_agent"]


def load_agent(name: str) -> Any:
    """The agent of a name, with modules found from the current folder as well.

    Args:
        name: `MODULE:AGENT`; `AGENT` may have dots.

    Raises:
        ConfigurationError: If there is no such module or attribute, or if it is no agent; the message
            says which, and what is there.
    """
    return _agent(name, load(name, "AGENT", "my_package.agents:agent"))


def load(name: str, what: str, example: str) -> Any:
    """What a name stands for, with modules found from the current folder as well.

    Args:
        name: A module, a colon, and what is in it, with dots where that is inside of something.
        what: What the part behind the colon is called in messages.
        example: A name that would do.

    Raises:
        ConfigurationError: If there is no such module or attribute; the message says which, and what is there.
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise ConfigurationError(f"{name!r} is not MODULE:{what}, as in {example}")
    found: Any = _module(module_name)
    for part in path.split("."):
        if not hasattr(found, part):
            there = ", ".join(sorted(one for one in vars(found) if not one.startswith("_"))) or "nothing"
            raise ConfigurationError(f"{name}: {module_name!r} has no {path!r}; it has: {there[:500]}")
        found = getattr(found, part)
    return found


def _module(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigurationError(f"there is no module {error.name!r} here or among what is installed") from error
        raise ConfigurationError(f"importing {name!r} failed: {error}") from error
    except Exception as error:
        raise ConfigurationError(f"importing {name!r} failed: {type(error).__name__}: {error}") from error


def _agent(name: str, found: Any) -> Any:
    if isinstance(found, Pregel):
        return found
    if not inspect.isroutine(found):
        raise ConfigurationError(
            f"{name} is of type {type(found).__name__}, which is neither a compiled agent, as create_agent gives it, "
            "nor a function that gives one"
        )
    if inspect.iscoroutinefunction(found):
        raise ConfigurationError(f"{name} is asynchronous; name a plain function that gives the agent")
    try:
        made = found()
    except Exception as error:
        raise ConfigurationError(f"calling {name} without arguments failed: {type(error).__name__}: {error}") from error
    if not isinstance(made, Pregel):
        raise ConfigurationError(f"{name} gave a {type(made).__name__}, which is not a compiled agent")
    return made
