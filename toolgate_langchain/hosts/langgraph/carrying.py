"""One worker takes an answer into a paused graph; another that resumes it at the same time leaves no trace there.

Two workers that resume one thread both start from its last checkpoint and both run the node that asks. Whoever of them
does not get the claim leaves the node before anything is saved of it, so that the history goes on in one line.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.answer import read_answer
from toolgate_langchain.approvals.attempts import new_name
from toolgate_langchain.errors import InvalidAnswerError
from toolgate_langchain.hosts.engine.parent_run import note_lost
from toolgate_langchain.hosts.langgraph.pauses import LeavesNothing, drop_old_answer, pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["Carrier", "keep_answers_from_tools"]


class Carrier:
    """Takes answers in, in one pass of a node over its questions; see `Carrying`.

    Its claims are kept until their lease is over: until then the answer is in its run, and whoever looks later finds
    that the run went on. Made before the first question of the pass.

    Args:
        ledger: Where answers are claimed.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._pause = ledger, pause(_names_no_request)
        self._delivered, self._holder = 0, new_name()
        self._claimed: dict[str, str] = {}
        self._void: Counter[str] = Counter()
        """How often an answer that an earlier pass took in could not be used any more."""
        self._last = ""
        """The last request whose answer was on record."""

    def asking(self, ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What asks, counting the answers: those that were saved before are no news."""

        def counted(shown: Any) -> Any:
            answer = ask(shown)
            self._delivered += 1
            return answer

        return counted

    def coming(self, request_id: str) -> bool:
        """See `Carrying.coming`."""
        if self._pause is None or self._pause.replays:
            # Whoever goes back on purpose is asked as then.
            return True
        # A no to an earlier request may stand before it: it was given while this one waited.
        for number in range(self._delivered, self._pause.answers + 1):
            raw = self._pause.coming(number)
            if raw is None:
                return False
            try:
                if read_answer(raw).request_id in (None, request_id):
                    return True
            except InvalidAnswerError:
                return True
        return False

    def following(self, further: int = 0) -> Any:
        """See `Carrying.following`. One answer of a pass is new, and it is the last."""
        number = self._delivered + further
        return None if self._pause is None or number > self._pause.answers else self._pause.coming(number)

    def take(self, request_id: str, *, on_record: bool = False) -> Steps[None]:
        """See `Carrying.take`."""
        if on_record:
            self._last = request_id
        elif self._pause is not None and self._delivered > self._pause.answers:
            yield from self._claim(request_id)

    def void(self, request_id: str, *, on_record: bool) -> Steps[None]:
        """See `Carrying.void`."""
        saved = self._pause is not None and self._delivered <= self._pause.answers
        # The pass that took a saved answer in keeps its claim, and has nothing more to do with it.
        yield from self._claim(f"{request_id}:void" if saved and not on_record else request_id)

    def settle(self, turn_id: str) -> Steps[None]:
        """See `Carrying.settle`."""
        if not self._claimed:
            yield from self._claim(self._last or turn_id)

    def _claim(self, about: str) -> Steps[None]:
        paused = self._pause
        if paused is None or paused.replays or about in self._claimed:
            return
        # For this very pause: a fork of it is asked, and answered, on its own.
        key = f"{about}:{paused.task}"
        if void := self._void[about]:
            # An earlier pass claimed the answer that is void by now, and keeps that claim.
            key = f"{key}:{void}"
        if (yield lambda: self._ledger.claim(key, holder=self._holder)) is not True:
            raise _lost(
                f"request {about} was already answered: another worker carries its answer into the run; nothing "
                "was saved here. If that worker died, resume the run when its lease is over"
            )
        self._claimed[about] = key
        newest: str | None = yield paused.newest
        # Ids of checkpoints are in the order of their making.
        if newest is not None and newest > paused.checkpoint:
            raise _lost(f"request {about} was already answered and its run went on; nothing was saved here")

    def still_mine(self) -> Steps[None]:
        """See `Carrying.still_mine`."""
        for about, key in self._claimed.items():
            if (yield partial(self._ledger.renew, key, holder=self._holder)) is not True:
                raise _lost(
                    f"this worker took longer than the lease of its claim, and another one carries the answer to "
                    f"request {about} into the run; nothing was saved here"
                )

    def give_back(self, request_id: str) -> Steps[None]:
        """See `Carrying.give_back`."""
        key = self._claimed.pop(request_id, None)
        if key is None:
            self._void[request_id] += 1
            return
        yield lambda: self._ledger.release(key, holder=self._holder)

    def failed(self) -> Steps[None]:
        """See `Carrying.failed`."""
        for request_id in list(self._claimed):
            yield from self.give_back(request_id)


def _lost(why: str) -> LeavesNothing:
    """The error with which a worker leaves to another what that one has; a tool that it is raised in cannot keep it."""
    return note_lost(LeavesNothing(why))


def keep_answers_from_tools() -> None:
    """Let no tool of an agent inside take an answer to an earlier question of the gate for one to its own question."""
    drop_old_answer(_is_the_gates)


def _is_the_gates(raw: Any) -> bool:
    try:
        read_answer(raw)
    except InvalidAnswerError:
        return False
    return True


def _names_no_request(raw: Any) -> bool:
    """Whether an answer would be taken for one to whatever is asked. What cannot be read changes nothing anywhere."""
    try:
        return read_answer(raw).request_id is None
    except InvalidAnswerError:
        return True
