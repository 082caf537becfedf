"""Who answers: identities that can be read, and the operator's rule who may answer what.

An identity is for the record and for that rule. It lends nothing to the run, whose caller is fixed when it starts.
"""

from __future__ import annotations

import logging
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolgate_langchain.approvals.shown import show_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps

__all__ = ["UNSAID", "Approvers", "Unsaid", "readable_identity", "why_not"]

logger = logging.getLogger("toolgate_langchain")

_LONGEST: Final = 256
"""Characters of an identity; the longest address that mail takes has 254 (RFC 5321, section 4.5.3.1.3)."""

Approvers: TypeAlias = "Callable[[ApprovalRequest, str | None], Any]"
"""Who may answer a request: `True` for yes, anything else is a no. It may return an awaitable. `None` is nobody."""


class Unsaid(Enum):
    """Tells "nobody said who answers" from "nobody answers"."""

    UNSAID = "unsaid"


UNSAID: Final = Unsaid.UNSAID
"""Left out: the answer's own word for who gave it stands."""


def readable_identity(value: object) -> str | None:
    """An identity, or `None` for one that cannot be read exactly: it is nobody.

    Text with characters that cannot be seen, or with blanks around it, could pass for somebody else.

    Args:
        value: Whatever stands where an identity belongs.
    """
    if not isinstance(value, str) or not value or len(value) > _LONGEST or value != value.strip():
        return None
    shown = show_text(value)
    return value if shown.text == value and not shown.warnings and value.isprintable() else None


def why_not(approvers: Approvers, request: ApprovalRequest, by: str | None) -> Steps[str]:
    """Why somebody may not answer a request; empty where they may.

    Args:
        approvers: The operator's rule. One that raises says no.
        request: The request, as it was shown.
        by: Who answers, `None` for nobody.
    """
    told = f"{by} may not answer this request" if by is not None else "who answers must be named here, and was not"
    try:
        said = yield partial(approvers, request, by)
    except Exception:
        logger.exception("the rule who may answer raised, so nobody may answer request %s", request.request_id)
        return told
    return "" if said is True else told
