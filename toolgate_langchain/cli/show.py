"""What both commands show: who says what, each call at its end, and the table of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.shown import show_text
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.ui.console import ConsoleApprover
from toolgate_langchain.ui.screen import Screen, new_console, one_line
from toolgate_langchain.ui.scripted import ScriptedApprover
from toolgate_langchain.ui.summary import print_summary
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.hosts.record import CallOutcome

__all__ = ["Stage"]


class _Terminal(ConsoleApprover):
    """Whoever sits at the terminal.

    Args:
        unasked: Gets the calls that nobody was there to be asked about, by their ids, each with why.
        console: The terminal.
        by: Who answers, for the record.
    """

    def __init__(self, unasked: dict[str, str], console: Console, by: str | None) -> None:
        super().__init__(console, by)
        self._unasked = unasked

    def _nobody(self, request: ApprovalRequest, why: str) -> ApprovalAnswer:
        self._unasked[request.tool_call_id] = f"nobody was there to ask: {why}"
        return super()._nobody(request, why)


class Stage:
    """The terminal of one command: shows what happens, answers what is asked, and keeps every call.

    Args:
        answers: The words that stand in for a person, or `None` for whoever sits at the terminal.
        by: Who that is, for the record.

    Raises:
        ConfigurationError: For an answer that is none.
        MissingExtraError: If rich is not installed.
    """

    def __init__(self, answers: Sequence[str] | None, by: str | None = None) -> None:
        self._console = new_console("The command toolgate")
        self._screen = Screen(self._console)
        self._unasked: dict[str, str] = {}
        self._approver = (
            _Terminal(self._unasked, self._console, by)
            if answers is None
            else ScriptedApprover(answers, self._console, "script" if by is None else by)
        )
        self._outcomes: list[CallOutcome] = []

    @property
    def nobody_there(self) -> bool:
        """Whether something was to be asked while nobody could answer it."""
        return bool(self._unasked)

    def approve(self, request: ApprovalRequest, /) -> ApprovalAnswer:
        """Put one request to the person (an `Approver`)."""
        return self._approver(request)

    def observe(self, outcome: CallOutcome) -> None:
        """Show one call at its end and keep it (an `Observer`)."""
        if outcome.code == Code.REJECTED and (why := self._unasked.get(outcome.call_id)) is not None:
            # To the gate it is a rejection like any other; here it is known that no person said it.
            outcome = replace(outcome, layer="nobody", reason=why, asked=False)
        self._outcomes.append(outcome)
        end = "runs" if outcome.verdict is Verdict.ALLOW else "does not run"
        style = "green" if outcome.verdict is Verdict.ALLOW else "red"
        self._screen.write(f"{one_line(outcome.name)} {end}: {one_line(outcome.reason)}", style, before="Gate:     ")

    def note(self, text: str) -> None:
        """Say something in our own words."""
        self._screen.write(text)

    def user(self, text: str) -> None:
        """Show what the user says."""
        self._screen.write()
        self._screen.write(show_text(text).text, "bold", before="User:     ")

    def agent(self, text: str) -> None:
        """Show what the agent says."""
        self._screen.write(show_text(text).text, before="Agent:    ")

    def error(self, text: str) -> None:
        """Say what went wrong."""
        self._screen.write()
        self._screen.write(show_text(text).text, "bold red")

    def summary(self) -> None:
        """Show every call with its verdict, the layer that decided and the reason."""
        self._screen.write()
        print_summary(self._outcomes, self._console)
