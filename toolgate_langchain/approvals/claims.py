"""The ledger's part for claims: who carries an answer into its run, and until when others stand back.

A claim ends with its lease, because its worker may be dead. A worker that is merely slow has to find out: it renews its
claim before it writes what others would see, and where somebody else has it by now it goes no further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolgate_langchain.approvals.ledger import Maybe

__all__ = ["Claims"]


class Claims(Protocol):
    """What a ledger keeps of claims. A part of `Ledger`; see there for what may be awaited.

    A claim has a holder: a name that whoever claims made up for it. Left out, it is held by whoever uses this ledger
    object, one at a time.
    """

    def claim(self, request_id: str, *, holder: str | None = None) -> Maybe[bool]:
        """Claim the right to carry an answer to a request into its run; `False` if somebody has it."""
        ...

    def renew(self, request_id: str, *, holder: str) -> Maybe[bool]:
        """Go on holding a claim; `False` where it was lost. Whoever lost it writes nothing more.

        It is not looked up while more than half of its lease is left.
        """
        ...

    def release(self, request_id: str, *, holder: str | None = None) -> Maybe[None]:
        """Give a claim back. One that somebody else has by now is left alone."""
        ...
