"""Carrying an answer into its run: one worker at a time, so that two who resume at once never fork a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["AtOnce", "Carrying"]


class Carrying(Protocol):
    """Whoever takes answers in, in one pass over the questions of a turn.

    A pass begins at the first question and takes in again what earlier passes took in already. Only the answer that
    is new in it is claimed.
    """

    def coming(self, request_id: str) -> bool:
        """Whether the next answer that is given may be one to this request."""
        ...

    def following(self, further: int = 0) -> Any:
        """The answer that comes after the one that was just given, as it was sent; `None` where there is none yet.

        Args:
            further: How many more are passed over.
        """
        ...

    def take(self, request_id: str, *, on_record: bool = False) -> Steps[None]:
        """Claim the answer that was just given to a request, before anything is done with it.

        Args:
            request_id: The request.
            on_record: Whether nobody gave it just now: a worker that died left it on record. It is claimed where the
                turn is settled, if no answer that is new was claimed until then.

        Raises:
            AlreadyAnsweredError: If another worker has it, or the run went on meanwhile. Nothing may be saved then.
        """
        ...

    def void(self, request_id: str, *, on_record: bool) -> Steps[None]:
        """Claim the right to take the answer to a request off the record, because it cannot be used any more.

        Args:
            request_id: The request.
            on_record: As for `take`.

        Raises:
            AlreadyAnsweredError: As for `take`.
        """
        ...

    def settle(self, turn_id: str) -> Steps[None]:
        """Claim the right to settle a turn, where nothing was claimed in this pass.

        Args:
            turn_id: The turn.

        Raises:
            AlreadyAnsweredError: As for `take`.
        """
        ...

    def still_mine(self) -> Steps[None]:
        """Look, before anything is granted or saved, whether what was claimed in this pass is still this worker's.

        A worker can be slow: its claims end with their lease, and somebody else goes on.

        Raises:
            AlreadyAnsweredError: If a claim was lost. Nothing may be granted or saved then.
        """
        ...

    def give_back(self, request_id: str) -> Steps[None]:
        """The answer could not be used; somebody may give another one."""
        ...

    def failed(self) -> Steps[None]:
        """This pass ends without a result. What it claimed can be carried by whoever tries again."""
        ...


class AtOnce:
    """Carrying where nobody else can, as where the claim was made before the questions were gone through."""

    def coming(self, request_id: str) -> bool:
        """See `Carrying.coming`."""
        return True

    def following(self, further: int = 0) -> Any:
        """See `Carrying.following`."""
        return None

    def take(self, request_id: str, *, on_record: bool = False) -> Steps[None]:
        """See `Carrying.take`."""
        return
        yield

    def void(self, request_id: str, *, on_record: bool) -> Steps[None]:
        """See `Carrying.void`."""
        return
        yield

    def settle(self, turn_id: str) -> Steps[None]:
        """See `Carrying.settle`."""
        return
        yield

    def still_mine(self) -> Steps[None]:
        """See `Carrying.still_mine`."""
        return
        yield

    def give_back(self, request_id: str) -> Steps[None]:
        """See `Carrying.give_back`."""
        return
        yield

    def failed(self) -> Steps[None]:
        """See `Carrying.failed`."""
        return
        yield
