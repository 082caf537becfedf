"""Measure everything in one run and print one table."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from benchmarks.channels import measure_channels, measure_checkpoints
from benchmarks.decisions import measure_offering, measure_rules
from benchmarks.imports import measure_imports
from benchmarks.ledgers import measure_ledgers
from benchmarks.loop import IN_MEMORY, NO_CHECKPOINTER, SQLITE, measure_loop
from benchmarks.machine import facts, pin
from benchmarks.soak import main as soak
from benchmarks.table import Row, as_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def main() -> None:
    """Measure what is named on the command line, or everything."""
    sections: dict[str, Callable[[int], Iterator[Row]]] = {
        "loop": lambda rounds: measure_loop(IN_MEMORY, rounds=rounds),
        "loop-without-checkpointer": lambda rounds: measure_loop(NO_CHECKPOINTER, rounds=rounds),
        "loop-sqlite": lambda rounds: measure_loop(SQLITE, rounds=max(rounds // 4, 3)),
        "rules": lambda rounds: measure_rules(rounds=rounds),
        "offering": lambda rounds: measure_offering(rounds=max(rounds // 4, 3)),
        "imports": lambda rounds: measure_imports(rounds=max(rounds // 4, 3)),
        "channels": lambda rounds: measure_channels(),
        "checkpoints": lambda rounds: measure_checkpoints(),
        "ledgers": lambda rounds: measure_ledgers(rounds=max(rounds // 2, 3)),
    }
    if sys.argv[1:2] == ["soak"]:
        soak(sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, epilog="`soak` by itself is another command; see soak --help"
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=f"what to measure: {', '.join(sections)}")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of the short measurements (60)")
    given = parser.parse_args()
    if unknown := set(given.sections) - set(sections):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sections)}")
    lines = [*facts(), f"{pin()}, {given.rounds} rounds"]
    rows: list[Row] = []
    for name in given.sections or sections:
        print(f"measuring {name} ...", file=sys.stderr)
        rows += sections[name](given.rounds)
    print("\n".join(f"- {line}" for line in lines), as_markdown(rows), sep="\n\n")
    kept = [row.held for row in rows if row.bound is not None]
    print(f"\n{sum(kept)} of {len(kept)} bounds kept")


main()
