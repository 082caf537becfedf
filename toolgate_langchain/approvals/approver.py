"""Whoever answers requests, as the driver of a run sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.request import ApprovalRequest

__all__ = ["Approver"]


class Approver(Protocol):
    """Whoever answers requests: a person at a terminal, a page, a script in a test."""

    def __call__(
        self, request: ApprovalRequest, /
    ) -> ApprovalAnswer | Mapping[str, Any] | Awaitable[ApprovalAnswer | Mapping[str, Any]]:
        """Answer one request. The answer may leave out the request's id; it is filled in."""
        ...
