"""A person at a terminal, as an approver."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, TextIO

from toolgate_langchain.approvals.answer import ApprovalAnswer
from toolgate_langchain.ui.keys import Keyboard, interrupts_raise
from toolgate_langchain.ui.screen import new_console

if TYPE_CHECKING:
    from rich.console import Console

    from toolgate_langchain.approvals.request import ApprovalRequest

__all__ = ["ConsoleApprover"]

logger = logging.getLogger("toolgate_langchain")

_one_question_at_a_time = threading.Lock()
"""Two questions on one terminal would each get the other's answer."""


class ConsoleApprover:
    """Asks in the terminal: the whole call, then the question. An `Approver`.

    Nothing but a typed `y` or `yes` (or the key of a "don't ask again") approves. Ctrl-C and the
    end of input are a no, keys pressed before the question do not count, and where input or output
    is no terminal, nobody is there: the call is rejected, and nothing is read.

    Args:
        console: A rich console; left out, one on standard output.
        by: Who answers, for the record.
        stdin: The terminal to read from; left out, standard input.

    Raises:
        MissingExtraError: If rich is not installed.
    """

    def __init__(self, console: Console | None = None, by: str | None = None, *, stdin: TextIO | None = None) -> None:
        self._console = console if console is not None else new_console("ConsoleApprover")
        self._keyboard = Keyboard(stdin)
        self._by = by

    def __call__(self, request: ApprovalRequest, /) -> ApprovalAnswer:
        """Ask about one request."""
        from toolgate_langchain.ui.dialogue import Dialogue
        from toolgate_langchain.ui.render import said
        from toolgate_langchain.ui.screen import Screen

        if not self._keyboard.somebody_there(self._console.file):
            return self._nobody(request, "input or output is not a terminal")
        with _one_question_at_a_time, interrupts_raise():
            try:
                screen = Screen(self._console)
                answer = Dialogue(screen, self._keyboard, request, self._by).ask()
                screen.write(f"-> {said(answer)}")
            except OSError:
                return self._nobody(request, "the terminal is gone")
            return answer

    def _nobody(self, request: ApprovalRequest, why: str) -> ApprovalAnswer:
        """The rejection where no person can answer, said loudly: it is not a person's no."""
        message = f"nobody is there to approve it: {why}"
        logger.warning("rejected %r: %s", request.tool_name, message)
        return ApprovalAnswer(request_id=request.request_id, type="reject", message=message)
