"""Approves an address whose host is in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.ready_heuristics.base import MAX_LISTED, ArgumentHeuristic
from toolgate_langchain.catalog.entry import LOCAL
from toolgate_langchain.policy.egress import EgressPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolgate_langchain.approvals.heuristics import HeuristicContext

__all__ = ["HostIn"]


class HostIn(ArgumentHeuristic):
    """Approves a call whose address has exactly the scheme, host and port of one in the list.

    It reads addresses as `EgressPolicy` does, and covers as little: not where the server sends the tool on to,
    not what a name means in DNS, and not what is carried away in the path or the query. A host that shows what
    others wrote on it, or that takes anything from anybody, is no host for this list.

    Args:
        tool: The name of the tool.
        argument: The argument that is an address, or a list of addresses, all of which must be in the list.
        hosts: The hosts, as for `EgressPolicy(endpoints=...)`: `"api.example.com"` is that host by https.
        others: The names of arguments that may have any value.
        origin: Where the tool comes from; see `ArgumentHeuristic`.

    Raises:
        ConfigurationError: If a host cannot be read.
    """

    def __init__(
        self, tool: str, argument: str, hosts: Iterable[str], *, others: Iterable[str] = (), origin: str = LOCAL
    ) -> None:
        super().__init__(tool, argument, others=others, origin=origin)
        self._egress = EgressPolicy(endpoints=hosts)

    def approves(self, value: Any, context: HeuristicContext) -> bool:
        """Whether every address is in the list."""
        urls = value if isinstance(value, list) else [value]
        return 0 < len(urls) <= MAX_LISTED and all(
            isinstance(url, str) and self._egress.resolve(url) is not None for url in urls
        )
