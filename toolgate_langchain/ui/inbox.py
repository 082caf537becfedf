"""What waits on all threads, as a table, and a question that can be left waiting: the run does not hang on the word."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from toolgate_langchain.ui.dialogue import Dialogue
from toolgate_langchain.ui.keys import interrupts_raise
from toolgate_langchain.ui.render import said
from toolgate_langchain.ui.screen import Screen, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rich.console import Console
    from rich.table import Table

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.ledger import PendingRequest
    from toolgate_langchain.ui.keys import Keyboard

__all__ = ["LeftWaitingError", "StoppedError", "ask_about", "inbox_table"]

_SHOWN_OF_ARGUMENTS: Final = 60
"""Characters of the arguments in the table: enough to tell requests apart. The question shows them all."""


class LeftWaitingError(Exception):
    """The person leaves a request for later, or for somebody else."""


class StoppedError(Exception):
    """The person is gone, or wants to stop; the request goes on waiting."""


class _PatientDialogue(Dialogue):
    """Asks one person about one request that may as well go on waiting."""

    _further: ClassVar[Mapping[str, str]] = {"s": "skip it; it goes on waiting", "q": "quit; the rest goes on waiting"}

    def _other(self, key: str) -> ApprovalAnswer | None:
        raise LeftWaitingError if key == "s" else StoppedError("")

    def _without_answer(self, message: str) -> ApprovalAnswer:
        raise StoppedError(message)


def ask_about(
    console: Console, keyboard: Keyboard, one: PendingRequest, by: str | None, now: datetime
) -> ApprovalAnswer:
    """Ask the person at the terminal about one request.

    Args:
        console: Where it is shown.
        keyboard: Where the answer is typed.
        one: The request, with where it waits and since when.
        by: Who answers.
        now: The time.

    Raises:
        LeftWaitingError: If the person skips it.
        StoppedError: If the person quits, presses Ctrl-C, or is gone; saying why, where there is something to say.
    """
    screen = Screen(console)
    screen.write()
    thread = "on no thread" if one.thread_id is None else one_line(one.thread_id)
    screen.write(thread, "bold", before="Thread:   ")
    screen.write(f"{_time(one.asked_at)} ({_age(one.asked_at, now)} ago)", before="Asked:    ")
    if one.expires_at is not None:
        screen.write(_time(one.expires_at), before="Expires:  ")
    with interrupts_raise():
        try:
            answer = _PatientDialogue(screen, keyboard, one.request, by).ask()
            screen.write(f"-> {said(answer)}")
        except OSError as error:
            raise StoppedError("the terminal is gone") from error
    return answer


def inbox_table(pending: Sequence[PendingRequest], now: datetime) -> Table:
    """A table of what waits, one row each, in the order in which it was asked.

    Columns that are empty in all rows are left out. Where it is narrow an id is cut: its beginning is enough for
    `toolgate inbox`, and the call needs the room.

    Args:
        pending: The requests.
        now: The time.
    """
    from rich.table import Table
    from rich.text import Text

    from toolgate_langchain.canonical import canonical_json

    table = Table(title=Text("Waiting for a person"), show_lines=False)
    shown = {"for": any(one.request.caller for one in pending), "expires": any(one.expires_at for one in pending)}
    headings = [one for one in ("request", "thread", "call", "tier", "for", "asked", "expires") if shown.get(one, True)]
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for one in pending:
        request = one.request
        text = one_line(canonical_json(dict(request.arguments)))
        more = f"{text[:_SHOWN_OF_ARGUMENTS]}..." if len(text) > _SHOWN_OF_ARGUMENTS else text
        call = Text(one_line(request.tool_name), style="bold")
        call.append(f" {more}", style="not bold")
        if request.warnings:
            call.append(" (with warnings)", style="yellow")
        if request.error:
            call.append(f" ({one_line(request.error)})", style="red")
        cells = {
            "request": Text(one_line(request.request_id), no_wrap=True, overflow="ellipsis"),
            "thread": Text(one_line(one.thread_id or "")),
            "call": call,
            "tier": Text(one_line(request.tier)),
            "for": Text(one_line(request.caller or "")),
            "asked": Text(f"{_age(one.asked_at, now)} ago"),
            "expires": Text("" if one.expires_at is None else _time(one.expires_at)),
        }
        table.add_row(*(cells[heading] for heading in headings))
    return table


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _age(at: datetime, now: datetime) -> str:
    """How long ago something was, in its largest unit."""
    seconds = max(int((now - at).total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
