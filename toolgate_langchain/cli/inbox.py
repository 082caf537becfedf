"""`toolgate inbox`: what waits for a person on all threads, listed and answered while the workers are elsewhere."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from toolgate_langchain.cli.errors import plain_errors
from toolgate_langchain.cli.ledgers import LedgerUrl, open_ledger
from toolgate_langchain.errors import InvalidAnswerError, LedgerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from rich.console import Console

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.inbox import LeftAnswer
    from toolgate_langchain.approvals.ledger import AnswerStatus, PendingRequest
    from toolgate_langchain.approvals.sql.ledger import SqlLedger

__all__ = ["Visit", "inbox"]

_FAILED: Final = 1


def inbox(
    ledger: LedgerUrl,
    requests: Annotated[
        list[str] | None,
        typer.Argument(metavar="REQUEST", help="Only these, by their ids or the beginnings of them."),
    ] = None,
    answer: Annotated[bool, typer.Option("--answer", help="Answer them here, one after another.")] = False,
    by: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Who answers, for the record and for who may.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object, whole requests.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="List at most so many.")] = 100,
) -> None:
    """List what waits for a person on all threads of a ledger, and answer it in the terminal.

    No worker has to be there. An answer is kept in the ledger until one carries it into its run, which
    `resume_answered(agent)` does. Without a terminal nothing is answered.

    The exit code is 1 where an answer was asked for and nobody could give one, or where it changed nothing.
    """
    if answer and as_json:
        raise typer.BadParameter("--json lists, and --answer asks a person: choose one")
    with plain_errors():
        from toolgate_langchain.approvals.identity import readable_identity

        if by is not None and readable_identity(by) is None:
            raise typer.BadParameter("--as takes a name without blanks around it and without hidden characters")
        with open_ledger(ledger) as opened, _of_this_version():
            code = Visit(opened, by).run(requests or [], answering=answer, as_json=as_json, limit=limit)
    raise typer.Exit(code)


class Visit:
    """One look into an inbox.

    Args:
        ledger: Where the requests are.
        by: Who answers.
        console: A rich console; left out, one on standard output.
        stdin: The terminal to read from; left out, standard input.
    """

    def __init__(
        self, ledger: SqlLedger, by: str | None, console: Console | None = None, stdin: TextIO | None = None
    ) -> None:
        from toolgate_langchain.ui.keys import Keyboard
        from toolgate_langchain.ui.screen import Screen, new_console

        self._ledger, self._by = ledger, by
        self._console = new_console("The command toolgate") if console is None else console
        self._keyboard, self._screen = Keyboard(stdin), Screen(self._console)

    def run(self, wanted: Sequence[str], *, answering: bool, as_json: bool, limit: int) -> int:
        """List, answer, and give the exit code."""
        found: list[PendingRequest] = _now(self._ledger.pending(limit=limit + 1))
        left: list[LeftAnswer] = _now(self._ledger.left_answers(limit=limit + 1))
        waiting = [one for one in found[:limit] if _named(one, wanted)]
        missing = [name for name in wanted if not any(_named(one, [name]) for one in found[:limit])]
        if as_json:
            typer.echo(
                json.dumps(
                    {"pending": [_plain(one) for one in waiting], "answered": [_told(one) for one in left[:limit]]}
                )
            )
        else:
            self._list(waiting, left[:limit], more=len(found) > limit)
        for name in missing:
            typer.echo(f"toolgate: {name!r} is not pending: it was answered, went another way, or never was", err=True)
        if not answering:
            return _FAILED if missing else 0
        return self._answer_all(waiting) or (_FAILED if missing else 0)

    def _list(self, waiting: Sequence[PendingRequest], left: Sequence[LeftAnswer], *, more: bool) -> None:
        from toolgate_langchain.ui.inbox import inbox_table

        if waiting:
            self._console.print(inbox_table(waiting, datetime.now(UTC)))
        else:
            self._screen.write("Nothing waits for a person.")
        if more:
            self._screen.write("There is more; --limit lists it.")
        if left:
            number = "1 answer waits" if len(left) == 1 else f"{len(left)} answers wait"
            self._screen.write(f"{number} to be carried into a run: resume_answered(agent) does so.")

    def _answer_all(self, waiting: Sequence[PendingRequest]) -> int:
        """Ask about one after another; the exit code."""
        from toolgate_langchain.ui.inbox import LeftWaitingError, StoppedError, ask_about

        if not waiting:
            return 0
        if not self._keyboard.somebody_there(self._console.file):
            typer.echo("toolgate: nobody is there to answer: input or output is not a terminal", err=True)
            return _FAILED
        code = 0
        for one in waiting:
            try:
                answer = ask_about(self._console, self._keyboard, one, self._by, datetime.now(UTC))
            except LeftWaitingError:
                self._screen.write("It goes on waiting.")
                continue
            except StoppedError as stopped:
                why = f": {stopped}" if str(stopped) else ""
                with suppress(OSError):  # the terminal may be gone with the person
                    self._screen.write(f"Stopped{why}. What is left goes on waiting.")
                return _FAILED if str(stopped) else code
            told, taken = self._leave(one, answer)
            self._screen.write(told, "" if taken else "bold red")
            code = code if taken else _FAILED
        return code

    def _leave(self, one: PendingRequest, answer: ApprovalAnswer) -> tuple[str, bool]:
        """Record an answer: what became of it, and whether it counts."""
        from toolgate_langchain.approvals.ledger import AnswerStatus

        request = one.request
        status: AnswerStatus = _now(
            self._ledger.leave_answer(request.request_id, answer, digest=request.digest, at=datetime.now(UTC))
        )
        match status:
            case AnswerStatus.RECORDED:
                return "Kept. It waits to be carried into its run.", True
            case AnswerStatus.WITHDRAWN:
                return "Kept. It takes back an approval that was given meanwhile and not used yet.", True
            case AnswerStatus.TOO_LATE:
                return "Too late: it was approved meanwhile, and the call was started. Nothing changed.", False
            case AnswerStatus.REPEATED:
                held = _now(self._ledger.answer_to(request.request_id))
                who = "somebody" if held is None or held.by is None else held.by
                what = "" if held is None else f" with {held.type!r}"
                return f"Too late: {who} answered it meanwhile{what}. Nothing changed.", False
            case AnswerStatus.EXPIRED:
                return "Too late: its time is over. Nothing changed.", False
            case _:
                return "Too late: nobody waits for it any more. Nothing changed.", False


@contextmanager
def _of_this_version() -> Iterator[None]:
    """Say in one sentence what another version of this package wrote."""
    try:
        yield
    except InvalidAnswerError as error:
        raise LedgerError(f"a request in this ledger cannot be read here: {error}") from error


def _named(one: PendingRequest, wanted: Sequence[str]) -> bool:
    return not wanted or any(name and one.request.request_id.startswith(name) for name in wanted)


def _plain(one: PendingRequest) -> dict[str, Any]:
    return {
        "request_id": one.request.request_id,
        "thread_id": one.thread_id,
        "asked_at": one.asked_at.isoformat(),
        "expires_at": None if one.expires_at is None else one.expires_at.isoformat(),
        "shown": one.request.to_interrupt(),
    }


def _told(one: LeftAnswer) -> dict[str, Any]:
    return {
        "request_id": one.request_id,
        "thread_id": one.thread_id,
        "tool": one.tool_name,
        "answer": one.answer.to_json(),
        "answered_at": one.answered_at.isoformat(),
        "superseded": one.superseded,
    }


def _now(value: Any) -> Any:
    """What a ledger gives where no event loop runs."""
    return value
