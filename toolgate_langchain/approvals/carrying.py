"""Carrying an answer into its run: one worker at a time, so that two who resume at once never fork a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["AtOnce", "Carrying"]


class Carrying(Protocol):
    """Whoever takes answers in, in one pass over the questions of a turn.

    A pass begins at the first question and takes in again what earlier passes took in already. Only the answer that
    is new in it is claimed.
    """

    def take(self, request_id: str) -> Steps[None]:
        """Claim the answer that was just given to a request, before anything is done with it.

        Args:
            request_id: The request.

        Raises:
            AlreadyAnsweredError: If another worker has it, or the run went on meanwhile. Nothing may be saved then.
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

    def take(self, request_id: str) -> Steps[None]:
        """See `Carrying.take`."""
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
