"""One thing that happened in a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["LedgerEvent"]


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One thing that happened in a ledger, written in the transaction in which it happened."""

    number: int
    """Its place in the record. Later is greater; there are gaps."""
    at: datetime
    kind: str
    """`judged`, `decided` and `ended` tell of calls; `asked`, `answered`, `answer_void`, `carried`, `sent_back`,
    `grant_...`, `start_...`, `call_...`, `rule_kept`, `rule_revoked`, `stopped` and `resumed` of what changed in the
    ledger."""
    request_id: str | None
    thread_id: str | None
    detail: Mapping[str, Any]
    """What else is known of it, in plain JSON. Arguments of a call are there with sensitive values masked."""
