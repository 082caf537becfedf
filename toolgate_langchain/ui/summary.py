"""The end of a run: every call with its verdict, the layer that decided, and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.ui.screen import new_console, one_line
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console
    from rich.table import Table

    from toolgate_langchain.hosts.record import CallOutcome

__all__ = ["print_summary", "summary_table"]

_LONGEST_ARGUMENTS: Final = 200
"""Characters of the arguments in the table: enough to tell calls apart. The question showed them all."""


def summary_table(outcomes: Iterable[CallOutcome]) -> Table:
    """A table of calls, one row each, in the order given."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text("Every call, and who decided"), show_lines=False)
    table.add_column("#", justify="right", no_wrap=True)
    for heading in ("call", "verdict", "layer", "code", "reason"):
        table.add_column(heading, overflow="fold")
    for number, outcome in enumerate(outcomes, start=1):
        call = Text(one_line(outcome.name), style="bold")
        call.append(f" {_short(outcome.arguments)}", style="not bold")
        layer = outcome.layer if outcome.by is None else f"{outcome.layer} ({outcome.by})"
        style = "green" if outcome.verdict is Verdict.ALLOW else "red"
        table.add_row(
            str(number),
            call,
            Text(outcome.verdict.value, style=style),
            Text(one_line(layer)),
            Text(one_line(outcome.code)),
            Text(one_line(outcome.reason)),
        )
    if not table.rows:
        table.caption = Text("no tool calls")
    return table


def print_summary(outcomes: Iterable[CallOutcome], console: Console | None = None) -> None:
    """Print the table of calls.

    Args:
        outcomes: What `ToolGate(on_decision=...)` was told.
        console: A rich console; left out, one on standard output.

    Raises:
        MissingExtraError: If rich is not installed.
    """
    chosen = console if console is not None else new_console("The summary of a run")
    chosen.print(summary_table(outcomes))


def _short(arguments: Mapping[str, Any]) -> str:
    try:
        text = one_line(json.dumps(dict(arguments), ensure_ascii=False))
    except (TypeError, ValueError):
        text = "arguments that cannot be written as JSON"
    return text if len(text) <= _LONGEST_ARGUMENTS else f"{text[:_LONGEST_ARGUMENTS]}..."
