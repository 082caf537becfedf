"""How long the package takes to import, each time in a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.measure import quartiles
from benchmarks.table import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["measure_imports"]

_TIMED = """
import time
start = time.perf_counter()
{statement}
took = time.perf_counter() - start
import sys
heavy = sorted({{name.partition(".")[0] for name in sys.modules}} & {{"langchain", "langgraph", "langchain_core"}})
print(took, ",".join(heavy) or "none")
"""

PACKAGE = "import toolgate_langchain"
GATE = "from toolgate_langchain import ToolGate"
BASE = "from langchain_core.tools import BaseTool"


def measure_imports(*, rounds: int) -> Iterator[Row]:
    """Import in fresh processes, one after the other in each round."""
    took: dict[str, list[float]] = {}
    loaded: dict[str, str] = {}
    for number in range(-1, rounds):
        for statement in (PACKAGE, GATE, BASE):
            seconds, heavy = _import(statement)
            loaded[statement] = heavy
            if number >= 0:
                took.setdefault(statement, []).append(seconds)
    low, middle, high = quartiles(took[PACKAGE])
    yield Row(
        section="import",
        what=f"`{PACKAGE}`",
        figure=f"{middle:.4f} s",
        spread=f"{low:.4f}-{high:.4f}",
        detail=f"loads of the LangChain family: {loaded[PACKAGE]}",
        bound="0.05 s, none loaded",
        held=middle <= 0.05 and loaded[PACKAGE] == "none",
    )
    low, middle, high = quartiles([one / base for one, base in zip(took[GATE], took[BASE], strict=True)])
    yield Row(
        section="import",
        what=f"`{GATE}` / `{BASE}`",
        figure=f"{middle:.3f}",
        spread=f"{low:.3f}-{high:.3f}",
        detail=f"{statistics.median(took[GATE]):.3f} / {statistics.median(took[BASE]):.3f} s; loads {loaded[GATE]}",
        bound="1.20, no langchain or langgraph",
        held=middle <= 1.20 and loaded[GATE] == "langchain_core",
    )


def _import(statement: str) -> tuple[float, str]:
    code = _TIMED.format(statement=statement)
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    seconds, heavy = out.split()
    return float(seconds), heavy
