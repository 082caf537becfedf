"""A person whose answers are written down beforehand, for demonstrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.approvals.answer import ApprovalAnswer, Remember
from toolgate_langchain.errors import ConfigurationError, InvalidAnswerError
from toolgate_langchain.ui.dialogue import read_json_object
from toolgate_langchain.ui.screen import new_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from toolgate_langchain.approvals.request import ApprovalRequest

__all__ = ["SCRIPT_WORDS", "ScriptedApprover"]

SCRIPT_WORDS: Final = ("approve", "reject", "reject:REASON", "always", "always-tool", "edit:{json}", "respond:TEXT")
"""What a script may say. `always` remembers exactly these arguments, `always-tool` any."""

_MEMORIES: Final[dict[str, Any]] = {"always": "arguments", "always-tool": "tool"}


class ScriptedApprover:
    """Answers from a script, one word a request, and shows each request as a person would see it. An `Approver`.

    Whatever the script cannot answer is rejected: a word that the request does not offer, an answer
    that was sent back, and everything after the last word.

    Args:
        answers: The words, in order; see `SCRIPT_WORDS`.
        console: A rich console; left out, one on standard output.
        by: Who answers, for the record.

    Raises:
        ConfigurationError: For an unknown word; the message names the allowed ones.
        MissingExtraError: If rich is not installed.
    """

    def __init__(self, answers: Sequence[str], console: Console | None = None, by: str | None = "script") -> None:
        if isinstance(answers, str):
            raise ConfigurationError("answers is one text; it must be a list of words")
        self._answers = [_read_word(word, position) for position, word in enumerate(answers, start=1)]
        self._console = console if console is not None else new_console("ScriptedApprover")
        self._by = by
        self._next = 0

    @property
    def unused(self) -> int:
        """How many words were not needed."""
        return len(self._answers) - self._next

    def __call__(self, request: ApprovalRequest, /) -> ApprovalAnswer:
        """Show a request and give it the next answer of the script."""
        from toolgate_langchain.ui.render import said, write_request
        from toolgate_langchain.ui.screen import Screen

        screen = Screen(self._console)
        write_request(screen, request)
        answer = self._answer_to(request)
        screen.write()
        screen.write(f"-> {said(answer)}  (scripted)")
        return answer

    def _answer_to(self, request: ApprovalRequest) -> ApprovalAnswer:
        if request.error:
            # The next word was written for the next request.
            return self._answer(request, "reject", message="the scripted answer could not be used")
        if not self.unused:
            return self._answer(request, "reject", message="the script has no more answers")
        kind, more = self._answers[self._next]
        self._next += 1
        remember = more.get("remember")
        offered = [(offer.what, offer.scope) for offer in request.remember]
        if kind not in request.allowed or (remember and (remember.what, remember.scope) not in offered):
            return self._answer(request, "reject", message="the scripted answer is not offered for this call")
        if kind == "edit":
            more = {**more, "edited_name": request.tool_name}
        return self._answer(request, kind, **more)

    def _answer(self, request: ApprovalRequest, kind: Any, **more: Any) -> ApprovalAnswer:
        return ApprovalAnswer(request_id=request.request_id, type=kind, by=self._by, **more)


def _read_word(word: str, position: int) -> tuple[str, dict[str, Any]]:
    """The kind of answer that a word stands for, and its other fields."""
    name, colon, rest = word.strip().partition(":") if isinstance(word, str) else ("", "", "")
    rest = rest.strip()
    if not colon:
        if name in ("approve", "reject"):
            return name, {}
        if name in _MEMORIES:
            return "approve", {"remember": Remember(_MEMORIES[name])}
    elif name in ("reject", "respond") and rest:
        return name, {"message": rest}
    elif name == "edit":
        try:
            return "edit", {"edited_arguments": read_json_object(rest)}
        except InvalidAnswerError as error:
            raise ConfigurationError(f"answer {position} of the script, {word!r}: {error}") from error
    raise ConfigurationError(f"answer {position} of the script is {word!r}; allowed: {', '.join(SCRIPT_WORDS)}")
