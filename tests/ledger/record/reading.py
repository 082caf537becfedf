"""Looking into a record."""

from __future__ import annotations

from typing import Any

from toolgate_langchain import export_record
from toolgate_langchain.approvals.recording.lines import read_record


def told(ledger: Any, kind: str, **only: Any) -> list[dict[str, Any]]:
    """What the record's lines of one kind say, in order."""
    return [line["detail"] for _, line in read_record(export_record(ledger, **only)) if line["kind"] == kind]


def only(ledger: Any, kind: str) -> dict[str, Any]:
    """What the one line of a kind says."""
    (said,) = told(ledger, kind)
    return said
