"""On what it was measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["facts", "pin"]

_PACKAGES = (
    "toolgate-langchain",
    "langchain",
    "langchain-core",
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "pydantic",
)


def pin() -> str:
    """Keep this process, and those that it starts, on one core where the system lets it, and say so."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def facts() -> Iterator[str]:
    """The machine, the interpreter and the versions, a line each."""
    yield f"{_processor()}, {os.cpu_count()} cores, load {_load()}, {platform.system()} {platform.release()}"
    yield f"{platform.python_implementation()} {platform.python_version()}"
    yield ", ".join(f"{name} {version(name)}" for name in _PACKAGES)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _load() -> str:
    try:
        return f"{os.getloadavg()[0]:.1f} when it started"
    except OSError:
        return "unknown"
