"""Replay AgentDojo and print what was measured, with the labels that were used."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.agentdojo.labels import described
from benchmarks.agentdojo.package import run_suites
from benchmarks.agentdojo.replay import POLICIES, lines, play_suite
from benchmarks.agentdojo.traces import read_suites


def main() -> None:
    """Replay the suites that are named, or all four."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agentdojo", description=__doc__)
    parser.add_argument("suites", nargs="*", help="workspace, slack, banking, travel; all where none is named")
    parser.add_argument("--policy", choices=sorted(POLICIES), default="flow", help="what is asked about (flow)")
    parser.add_argument("--traces", type=Path, help="recorded suites in another file")
    parser.add_argument("--reasons", action="store_true", help="print each question with its reason")
    parser.add_argument("--no-labels", action="store_true", help="leave the labels out")
    given = parser.parse_args()
    suites = read_suites(given.traces)
    if not given.suites or set(given.suites) & {"banking", "travel"}:
        suites += run_suites()
    if unknown := set(given.suites) - {suite.name for suite in suites}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [suite for suite in suites if not given.suites or suite.name in given.suites]
    make = POLICIES[given.policy]
    results = [play_suite(suite, make(), progress=lambda said: print(said, file=sys.stderr)) for suite in chosen]
    print(f"Policy: {given.policy}\n", *lines(results), sep="\n")
    for result in results:
        for attack in result.attacks:
            if attack.unasked:
                print(f"\nunasked: {result.name} {attack.name}")
    if given.reasons:
        for result in results:
            for task in result.tasks:
                for place, reason in task.asked.items():
                    print(f"\n{result.name} {task.name}, {task.steps[place].tool}: {reason}")
    if not given.no_labels:
        for result in results:
            print(f"\nLabels of {result.name}, by hand:\n", *(f"- {line}" for line in described(result.name)), sep="\n")


main()
