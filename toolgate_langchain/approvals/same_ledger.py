"""One thread, one ledger: a turn that was judged with one is neither answered nor run with another.

What people said, and what has run, is in the one that they were asked from. Another one knows nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.errors import LedgerError

if TYPE_CHECKING:
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.approvals.turn import TurnRecord

__all__ = ["check_ledger"]


def check_ledger(ledger: Ledger, turn: TurnRecord) -> Steps[None]:
    """Refuse to go on with a turn that was judged with another ledger.

    Args:
        ledger: The gate's ledger.
        turn: The saved turn. One that was judged with a ledger in memory goes on with any: that one ended with its
            process, and what it knew counts as not on record.

    Raises:
        LedgerError: Before anything is asked, written or run. The right worker goes on where this one stopped.
    """
    if not turn.ledger:
        return
    identity: str = yield ledger.identity
    if identity != turn.ledger:
        raise LedgerError(
            f"this turn was judged with another ledger than {ledger!r}: all workers of a thread need the same, which "
            "knows what was answered and what has run; nothing was released"
        )
