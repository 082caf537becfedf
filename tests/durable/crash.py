"""Kills workers at every step between request and recorded result, lets others go on, and looks at what came of it.

The steps are all calls of the ledger's and the checkpointer's methods, right before and right after, while they are
awaited, and those of the tools; a worker dies at one of them without another word.
`python -m tests.durable.crash --runs 1000` does so at random, several times in one conversation, with workers that
await and workers that do not in turn. `--asynchronous` lets all of them await, and `--every` dies at each step in turn
instead, in each form, on each database, in both ways.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from tests.durable.dying import DONE, FORMS, LEASE, LEASED, Case, in_child, new_case, practise, prepare, worker
from tests.durable.points import KILLED
from tests.ledger.databases import start_postgres


def converse(case: Case, deaths: list[int], awaiting: Iterable[bool] = ()) -> tuple[int, list[str]]:
    """Let workers die at the given steps, one after the other, and another one bring it to its end.

    Args:
        case: The conversation.
        deaths: The steps.
        awaiting: For each of them whether its worker awaits; after these, all are as the case says.

    Returns:
        How many of them came to die there, and the faults that were found.
    """
    now, died, ways = case.start, 0, iter(awaiting)
    for die_at in [*deaths, None]:
        case = replace(case, asynchronous=next(ways, case.asynchronous))
        code, waits = LEASED, 0
        while code == LEASED and waits < 4:
            code = worker(case, die_at, now)
            now += LEASE if code == LEASED else timedelta(seconds=1)
            waits += code == LEASED
        if code == LEASED:
            case.note("faults", "the lease of a dead worker is never over")
        died += code == KILLED
        if case.noted("faults") or (die_at is not None and code == DONE):
            break
    return died, case.noted("faults")


def every_point(
    root: Path, url: str, form: str, *, numbers: Iterable[int] | None = None, **options: Any
) -> tuple[int, list[str]]:
    """Die at the first step, at the second, and so on, each in a conversation of its own, up to the last.

    Args:
        root: The folder of the conversations' folders.
        url: The ledger's database.
        form: See `Case`.
        numbers: The steps, and numbers beyond the last one; all without.
        options: Further fields of the `Case`.

    Returns:
        The first number that no step has, and the faults.
    """
    in_child(prepare, new_case(root, url, form, -1))
    practise(new_case(root, url, form, -2, **options))
    for number in count() if numbers is None else numbers:
        died, faults = converse(new_case(root, url, form, number, **options), [number])
        if faults or not died:
            return number, faults
    raise AssertionError


def _at_random(roots: dict[Path, str], runs: int, seed: int, *, asynchronous: bool) -> tuple[str, list[str]]:
    """Many conversations, each with up to three deaths at random steps."""
    rolls, deaths, found = random.Random(seed), 0, list[str]()
    calls = (("send", "a"), ("keep", "k"), ("read", "r"), ("send", "b"))
    for number in range(runs):
        root, url = [*roots.items()][number % len(roots)]
        case = new_case(root, url, rolls.choice(FORMS), number, calls=calls, asynchronous=asynchronous)
        steps = [rolls.randrange(200) for _ in range(rolls.randint(1, 3))]
        died, faults = converse(case, steps, [asynchronous or rolls.random() < 0.5 for _ in steps])
        deaths += died
        found += [f"run {number}, {case.form}, {case.url[:6]}: {fault}" for fault in faults]
        if number % 100 == 99:
            sys.stderr.write(f"{number + 1} runs, {deaths} deaths, {len(found)} faults\n")
    return f"{runs} runs, {deaths} deaths", found


def _at_every_step(roots: dict[Path, str], *, only_asynchronous: bool) -> tuple[str, list[str]]:
    """Each step of a conversation with two calls in turn, each in a conversation of its own."""
    steps, found = 0, list[str]()
    for root, url in roots.items():
        for form in FORMS:
            for asynchronous in (True,) if only_asynchronous else (False, True):
                below = root / f"{form} {asynchronous}"
                below.mkdir()
                number, faults = every_point(below, url, form, asynchronous=asynchronous)
                steps += number
                found += [f"{form}, {url[:6]}, asynchronous {asynchronous}: {fault}" for fault in faults]
                sys.stderr.write(f"{form}, {url[:6]}, asynchronous {asynchronous}: {number} steps\n")
    return f"{steps} steps", found


def main() -> None:
    """Many conversations on two databases; ends with the number of faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.durable.crash", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--asynchronous", action="store_true")
    parser.add_argument("--every", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, start_postgres(Path(made)) as postgres:
        sqlite, postgresql = Path(made) / "sqlite", Path(made) / "postgresql"
        postgres.execute("CREATE SCHEMA crashes")
        roots = {sqlite: f"sqlite:///{sqlite / 'ledger.db'}?timeout=30", postgresql: postgres.url("crashes")}
        for root, url in roots.items():
            root.mkdir()
            in_child(prepare, new_case(root, url, FORMS[0], -1))
        postgres.leave()
        if given.every:
            done, found = _at_every_step(roots, only_asynchronous=given.asynchronous)
        else:
            done, found = _at_random(roots, given.runs, given.seed, asynchronous=given.asynchronous)
    sys.stdout.write("\n".join([f"{done}, {len(found)} faults", *found, ""]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
