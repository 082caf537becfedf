"""The question about one call, and what a person types to answer it."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any, ClassVar, Final

from toolgate_langchain.approvals.answer import ApprovalAnswer, Remember
from toolgate_langchain.canonical import check_plain
from toolgate_langchain.errors import InvalidAnswerError, NotPlainJsonError
from toolgate_langchain.ui.form import Form
from toolgate_langchain.ui.render import write_arguments, write_request
from toolgate_langchain.ui.screen import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolgate_langchain.approvals.request import ApprovalRequest, MemoryOffer
    from toolgate_langchain.ui.keys import Keyboard
    from toolgate_langchain.ui.screen import Screen

__all__ = ["MAX_TRIES", "Dialogue", "read_json_object"]

MAX_TRIES: Final = 10
"""Lines that do not answer one question, after which it counts as a no: a stuck key must not loop."""

_CUT_BY_TERMINALS: Final = 4_000
"""Bytes of a typed line near which terminals drop the rest of it (Linux: at 4,095)."""


class Dialogue:
    """Asks one person about one request.

    Args:
        screen: Where it is shown.
        keyboard: Where the answer is typed.
        request: What is asked.
        by: Who answers, for the record.
    """

    _further: ClassVar[Mapping[str, str]] = {}
    """Further keys, with what each does."""

    def __init__(self, screen: Screen, keyboard: Keyboard, request: ApprovalRequest, by: str | None) -> None:
        self._screen, self._keyboard, self._request, self._by = screen, keyboard, request, by
        self._offers = {_key(offer): offer for offer in request.remember}

    def ask(self) -> ApprovalAnswer:
        """Show the request and take the answer; only an explicit yes is one.

        Ctrl-C and the end of input, at any point, are a no.
        """
        try:
            write_request(self._screen, self._request)
            self._write_choices()
            for _ in range(MAX_TRIES):
                answer = self._choice(self._read(f"Your answer [{'/'.join(self._keys)}]:").strip())
                if answer is not None:
                    return answer
        except KeyboardInterrupt:
            return self._ended("Ctrl-C was pressed instead of an answer")
        except EOFError:
            return self._ended("the input ended without an answer")
        return self._without_answer(f"no usable answer in {MAX_TRIES} tries")

    # --- the question -------------------------------------------------------------------------

    @property
    def _keys(self) -> list[str]:
        kinds = {"approve": "y", "reject": "n", "edit": "e", "respond": "r"}
        if self._request.kind == "outcome":
            kinds = {"try_again": "t", "done": "d", "failed": "f", "reject": "n"}
        possible = [key for kind, key in kinds.items() if kind in self._request.allowed]
        return [*possible, *self._offers, *self._further]

    def _write_choices(self) -> None:
        yes = "yes, run it once" if self._request.input_schema is None else "yes, after filling in its input"
        texts = {
            "y": yes,
            "n": "no; a reason may follow",
            "e": "edit its arguments",
            "r": "respond in the tool's place; nothing runs",
        }
        texts |= self._further
        if self._request.kind == "outcome":
            texts = {
                "t": "try again: run it once more",
                "d": "it is done",
                "f": "it failed; it was not done",
                "n": "nobody knows; nothing is run again",
            }
        self._screen.write()
        for key in self._keys:
            offer = self._offers.get(key)
            self._screen.write(texts[key] if offer is None else one_line(offer.text), before=f"  {key:<3} ")

    def _choice(self, line: str) -> ApprovalAnswer | None:
        """The answer that a line gives, or `None` to ask again."""
        word, _, rest = line.partition(" ")
        key = {"yes": "y", "no": "n"}.get(word.lower(), word.lower())
        # Only a no may carry more on its line: "y, but not that file" must not be a yes.
        if key not in self._keys or (rest and key != "n"):
            self._screen.write(f"Type one of: {', '.join(self._keys)}")
            return None
        if key in self._further:
            return self._other(key)
        if self._request.kind == "outcome" and key != "n":
            return self._reported(key)
        if key == "y":
            return self._approve()
        if key == "n":
            reason = rest or self._read("Reason (Enter for none):")
            return self._answer("reject", message=_text(reason) or None)
        if key == "e":
            return self._edit()
        if key == "r":
            text = _text(self._read("The result to give instead (Enter to go back):"))
            return self._answer("respond", message=text) if text else None
        offer = self._offers[key]
        return self._answer("approve", remember=Remember(offer.what, offer.scope))

    def _other(self, key: str) -> ApprovalAnswer | None:
        """What one of the further keys gives."""
        raise NotImplementedError

    def _reported(self, key: str) -> ApprovalAnswer:
        """What became of a call, as the person knows it."""
        if key == "t":
            return self._answer("try_again")
        known = self._read("What the model should know of it (Enter for nothing):")
        return self._answer("done" if key == "d" else "failed", message=_text(known) or None)

    def _approve(self) -> ApprovalAnswer | None:
        schema = self._request.input_schema
        if schema is None:
            return self._answer("approve")
        filled = Form(self._screen, self._read, schema, self._request.arguments).fill_in()
        return None if filled is None else self._answer("approve", input=filled)

    def _edit(self) -> ApprovalAnswer | None:
        self._screen.write("The arguments as JSON:")
        # JSON leaves this one control character as it is.
        self._screen.write(json.dumps(self._request.arguments).replace("\x7f", "\\u007f"), cut=False)
        for _ in range(MAX_TRIES):
            line = self._read("All arguments to run with, as one JSON object on one line (Enter to go back):").strip()
            if not line:
                return None
            try:
                arguments = read_json_object(line)
            except InvalidAnswerError as error:
                self._screen.write(one_line(str(error)), "red")
                continue
            write_arguments(self._screen, arguments)
            if self._read("Run it with exactly these arguments? [y/n]").strip().lower() in ("y", "yes"):
                return self._answer("edit", edited_arguments=arguments, edited_name=self._request.tool_name)
        return None

    # --- reading and answering ----------------------------------------------------------------

    def _read(self, prompt: str) -> str:
        # Dropped here, the prompt last: whoever waits for the prompt loses nothing.
        self._keyboard.forget()
        self._screen.prompt(prompt)
        return self._keyboard.read_line()

    def _ended(self, message: str) -> ApprovalAnswer:
        self._screen.write()
        return self._without_answer(message)

    def _without_answer(self, message: str) -> ApprovalAnswer:
        """What it is where nobody answers: here the run waits for the word, so it is a no."""
        return self._answer("reject", message=message)

    def _answer(self, kind: Any, **more: Any) -> ApprovalAnswer:
        return ApprovalAnswer(request_id=self._request.request_id, type=kind, by=self._by, **more)


def read_json_object(text: str) -> dict[str, Any]:
    """Read arguments that a person typed.

    Raises:
        InvalidAnswerError: If it is not exactly one JSON object that can be carried exactly.
    """
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        cut = "; terminals cut a typed line at some 4,000 characters" if len(text) >= _CUT_BY_TERMINALS else ""
        raise InvalidAnswerError(f"This is not JSON: {error}{cut}") from error
    if not isinstance(value, dict):
        raise InvalidAnswerError('The arguments must be a JSON object, such as {"name": "value"}')
    try:
        check_plain(value)
    except NotPlainJsonError as error:
        raise InvalidAnswerError(str(error)) from error
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _key(offer: MemoryOffer) -> str:
    """What is typed for an offer: `a` for exactly this, `t` for this tool.

    With an `r` behind it for this run only, with a `u` for all conversations of the user.
    """
    return ("a" if offer.what == "arguments" else "t") + ("" if offer.scope == "thread" else offer.scope[0])


def _text(line: str) -> str:
    """A typed line without what arrow keys and the like leave in it."""
    return "".join(character for character in line if unicodedata.category(character) != "Cc").strip()
