"""`toolgate redteam MODULE:GATE`: the red team against a gate of one's own, as a table."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.cli.loading import load
from toolgate_langchain.errors import ConfigurationError, ToolGateError
from toolgate_langchain.testing.attacking import ControlOutcome, Outcome
from toolgate_langchain.testing.redteam import all_hosts, red_team
from toolgate_langchain.ui.screen import new_console, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.testing.report import Finding, Report

__all__ = ["run_red_team"]

_STYLES: Final[dict[Outcome | ControlOutcome, str]] = {
    Outcome.LET_THROUGH: "bold red",
    Outcome.BROKE: "red",
    ControlOutcome.REFUSED_BY_MISTAKE: "bold red",
    Outcome.CAUGHT: "green",
    ControlOutcome.WORKS: "green",
    Outcome.NOT_APPLICABLE: "dim",
    ControlOutcome.NOT_APPLICABLE: "dim",
}
"""Worst first: of what came of an attack in several places, a row tells the worst."""


def run_red_team(name: str, hosts: Sequence[str]) -> int:
    """Attack a gate, and show every attack with its outcome.

    Args:
        name: `MODULE:GATE`, a function without arguments that gives the gate.
        hosts: Parts of the names of the hosts to attack through; none means all.

    Returns:
        The exit code: 1 where something was let through, refused by mistake, or broke.

    Raises:
        ConfigurationError: If there is no such function, it raises, or there is no such host.
    """
    make_gate = _gate_maker(name)
    chosen = [one for one in all_hosts() if not hosts or any(part in one.name for part in hosts)]
    if missing := [part for part in hosts if not any(part in one.name for one in chosen)]:
        known = ", ".join(dict.fromkeys(repr(one.name) for one in all_hosts()))
        raise ConfigurationError(f"no host is named like {', '.join(map(repr, missing))}; there are: {known}")
    console = new_console("The command toolgate")
    logger = logging.getLogger("toolgate_langchain")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it would log each attack that it refuses, which is what the table tells
    try:
        with _progress() as shown:
            report = red_team(make_gate, hosts=chosen, on_finding=shown)
    finally:
        logger.setLevel(level)
    console.print(_table(report))
    console.print(report.text(), markup=False, highlight=False)
    return 0 if report.ok else 1


def _gate_maker(name: str) -> Callable[[], ToolGate]:
    found: Any = load(name, "GATE", "my_package.gates:make_gate")
    if not callable(found):
        raise ConfigurationError(
            f"{name} is a {type(found).__name__}; name a function without arguments that makes the gate, with a ledger "
            "and a catalog of its own each time"
        )
    from toolgate_langchain.hosts.gate import ToolGate

    try:
        first = found()
    except ToolGateError:
        raise
    except Exception as error:
        raise ConfigurationError(f"calling {name} without arguments failed: {type(error).__name__}: {error}") from error
    if not isinstance(first, ToolGate):
        raise ConfigurationError(f"{name} gave a {type(first).__name__}, which is not a ToolGate")
    made: Callable[[], ToolGate] = found
    return made


@contextmanager
def _progress() -> Iterator[Callable[[Finding, int], None]]:
    """A line on the terminal's error output that says how far it is, and is gone at the end; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[tried]}", markup=False)
    # Not what rich takes for a terminal: settings that force colours would put the line into a file.
    somebody = sys.stderr.isatty()
    line = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not somebody,
    )
    with line:
        task = line.add_task("", total=None, tried="")

        def shown(finding: Finding, of: int) -> None:
            line.update(task, advance=1, total=of, tried=one_line(f"{finding.attack}, {finding.host}"))

        yield shown


def _table(report: Report) -> Table:
    """One row for each attack: the worst that came of it anywhere."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text("The red team"))
    table.add_column("#", justify="right", no_wrap=True)
    for heading in ("attack", "outcome", "its control"):
        table.add_column(heading, overflow="fold")
    order = list(_STYLES)
    rows: dict[tuple[int, str], tuple[set[Outcome], set[ControlOutcome]]] = {}
    for one in report.findings:
        outcomes, controls = rows.setdefault((one.line, one.attack), (set(), set()))
        outcomes.add(one.outcome)
        controls.add(one.control)
    for (line, attack), (outcomes, controls) in rows.items():
        outcome, control = min(outcomes, key=order.index), min(controls, key=order.index)
        shown = [Text(one.value, style=_STYLES[one]) for one in (outcome, control)]
        table.add_row(str(line), Text(one_line(attack)), *shown)
    return table
