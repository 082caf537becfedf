"""Where a tool may reach out to: one policy that every tool asks, whoever builds the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from toolgate_langchain.catalog.checks import listed
from toolgate_langchain.catalog.egress import EgressScope
from toolgate_langchain.errors import ConfigurationError, says_what_it_takes
from toolgate_langchain.policy.address import Address, declared_address, read_address
from toolgate_langchain.policy.arguments import PolicyAnswer
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.arguments import ArgumentView

__all__ = ["EgressPolicy"]

_SCOPES: Final[tuple[EgressScope, ...]] = get_args(EgressScope)
"""From the narrowest to the widest."""

_ALLOWED: Final = PolicyAnswer(Verdict.ALLOW)


class EgressPolicy:
    """Which addresses tools may reach. An argument policy, and what tools ask that build their address inside.

    A tool's profile declares its scope (`ToolProfile.egress`) and which of its arguments are addresses
    (`ToolProfile.endpoints`). In the scopes `"own_site"` and `"configured"` an address is http or https, without
    user info, with a host, and its scheme, host and port are exactly those of a declared one, the scheme's port
    filled in on both sides. Hosts are compared in small letters and not otherwise: a final dot, a look-alike, or
    another way to write a number is another host. `"none"`, the default, denies every address. `"open"` is not
    looked at. A checked address takes the place of the argument, in its normal form and without its fragment:
    it is what a person is shown, what is remembered and what the tool gets.

    It says where the first request goes. It does not cover:

    - redirects: the server that answers can send the tool on to any other address. A fetching tool follows
      none, or asks `resolve` about each;
    - DNS: a declared name can come to mean another machine, also one inside of your network;
    - what is sent there, and what a declared server does with it;
    - tools whose address stands inside of a longer argument, or that reach out without asking. A tool that is
      held to less than it declares, and does not say which of its arguments are addresses, is denied.

    Args:
        sites: The operator's own sites, as URLs without a path. `/x` is a page of the first.
        endpoints: What the operator configured: URLs without a path, `host:port`, or `host`, which is that
            host by https. `host:443` is https and `host:80` http; on any other port it is both.
        widest: The widest scope that any tool has; one that declares a wider one is held to this.

    Raises:
        ConfigurationError: If a site, an endpoint or the scope cannot be read.
    """

    __name__ = "egress"

    @says_what_it_takes
    def __init__(
        self, *, sites: Iterable[str] = (), endpoints: Iterable[str] = (), widest: EgressScope = "open"
    ) -> None:
        sites, endpoints = listed("sites", sites), listed("endpoints", endpoints)
        if widest not in _SCOPES:
            raise ConfigurationError(f"widest is {widest!r}; it must be one of {', '.join(map(repr, _SCOPES))}")
        self._sites = tuple(one for text in sites for one in declared_address(text, "sites", with_scheme=True))
        own = frozenset(self._sites)
        self._reachable: dict[str, frozenset[Address]] = {
            "own_site": own,
            "configured": frozenset(one for text in endpoints for one in declared_address(text, "endpoints")),
        }
        self._widest: EgressScope = widest

    def resolve(self, url: str, scope: EgressScope | None = "configured") -> str | None:
        """The checked address in its normal form, or `None` where it may not be reached.

        For tools that build their address inside: they treat `None` as "not configured".

        Args:
            url: An address, or for own sites a path that begins with one `/`.
            scope: How far the tool reaches out; `None` is nowhere.
        """
        held = self._held(scope)
        if held == "open":
            return url
        reachable = self._reachable.get(held)
        if reachable is None or not isinstance(url, str):
            return None
        if held == "own_site" and url.startswith("/") and not url.startswith("//") and self._sites:
            url = self._sites[0].text + url
        read = read_address(url)
        if read is None:
            return None
        address, rest = read
        return address.text + rest if address in reachable else None

    def __call__(self, view: ArgumentView) -> PolicyAnswer:
        """Deny a call whose declared addresses may not all be reached."""
        profile = view.entry.profile
        held = self._held(profile.egress)
        if not profile.endpoints:
            if profile.egress is not None and held != profile.egress:
                return PolicyAnswer(
                    Verdict.DENY,
                    f"the tool declares the scope {profile.egress!r}, is held to {held!r}, and does not say which "
                    "of its arguments are addresses",
                )
            return _ALLOWED
        for name in profile.endpoints:
            for url in _addresses(view.arguments.get(name)):
                if not isinstance(url, str) or self.resolve(url, held) is None:
                    return PolicyAnswer(Verdict.DENY, f"{name} is no address within the scope {held!r}")
        return _ALLOWED

    def resolve_arguments(self, entry: CatalogEntry, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The declared addresses of a call in their normal form; see `ResolvingPolicy`."""
        profile, fresh = entry.profile, dict[str, Any]()
        for name in profile.endpoints:
            given = arguments.get(name)
            if isinstance(given, str):
                fresh[name] = self._normal(given, profile.egress)
            elif isinstance(given, list):
                fresh[name] = [self._normal(url, profile.egress) for url in given]
        return fresh

    def _normal(self, url: Any, scope: EgressScope | None) -> Any:
        checked = self.resolve(url, scope) if isinstance(url, str) else None
        return url if checked is None else checked

    def _held(self, scope: EgressScope | None) -> EgressScope:
        """The scope that holds: at most the widest; what is not a scope is none."""
        if scope not in _SCOPES:
            return "none"
        return min(scope, self._widest, key=_SCOPES.index)


def _addresses(given: Any) -> list[Any]:
    """The addresses of one argument; one that was left out names none."""
    if given is None:
        return []
    return given if isinstance(given, list) else [given]
