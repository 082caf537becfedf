"""A profile says what one tool is. It is data about the tool and decides nothing by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, TypeVar

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Strict, field_validator
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.egress import EgressScope
from toolgate_langchain.errors import CatalogError
from toolgate_langchain.vocabulary import DataClass, Tier, TrustZone

__all__ = ["METADATA_KEY", "STRICT", "ToolProfile", "profile_of", "tool_profile"]

METADATA_KEY: Final = "toolgate"
"""Where a profile travels on a LangChain tool: `tool.metadata["toolgate"]`."""

STRICT: Final = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)
"""Models of this package do not guess: `"no"`, `0` and `None` are not booleans."""

_FUNCTION_ATTRIBUTE: Final = "__toolgate_profile__"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ToolProfile:
    """What one tool is.

    Raises:
        pydantic.ValidationError: (a `ValueError`) if a field has the wrong type.
    """

    tier: Annotated[Tier | None, Strict(False)] = None
    """`None` means unclassified, which counts as consequential on every surface."""

    groups: Annotated[frozenset[str], Strict(False)] = frozenset()
    """Names of the groups that the tool belongs to; groups are switched and configured as a whole."""

    admin_only: bool = False
    """Only an administrator's run may use the tool."""

    requires_approval: bool = False
    """The explicit marker: a person is needed on every surface, whatever the tier."""

    approval_when: Callable[[Mapping[str, Any]], bool] | None = None
    """Called with the effective arguments of one call; exactly `True` asks for a person, and so
    does raising or any answer that is not a bool. Must be pure."""

    input_schema: Mapping[str, Any] | None = None
    """A JSON Schema of fields that a person fills in before the tool runs (typed input)."""

    data_class: Annotated[DataClass | None, Strict(False)] = None
    """How sensitive the results are; undeclared counts as secret once zones are in use."""

    egress: EgressScope | None = None
    """How far what a call is given can travel. `None` declares nothing: `EgressPolicy` then denies every
    address, as for `"none"`, and whoever follows data must count the tool as one that sends it anywhere."""

    endpoints: Annotated[tuple[str, ...], Strict(False)] = ()
    """The names of the arguments that are addresses, each a URL or a list of URLs; `EgressPolicy` checks them."""

    zone: Annotated[TrustZone | None, Strict(False)] = None
    """Where what a call is given ends up, for a tool that hands it on. `None`: anywhere, once zones are in use."""

    results_trusted: bool = False
    """Nobody but the operator and the person can have written any of its results. `FlowPolicy` takes every
    other result for untrusted content."""

    trusted_fields: Annotated[frozenset[str], Strict(False)] = frozenset()
    """Of results that are not trusted: the fields that the tool's own system fills in and nobody else can write, such
    as an id or an authenticated sender. Dotted paths from the top, places in lists left out: `id`, `owner.id`."""

    decisive: Annotated[frozenset[str] | None, Strict(False)] = None
    """The arguments that decide what a call does and to whom, such as recipients, an amount, the id of what is
    deleted. `None`: all. `FlowPolicy` asks where they come from."""

    preview: Callable[[Mapping[str, Any]], str | Awaitable[str]] | None = None
    """Called with the effective arguments of one call that is asked about; tells what it would do: a diff, the
    rows that it touches. Must change nothing. It is called again right before the call runs."""

    idempotent: bool = False
    """Running the same call twice does no more than running it once, so it may be repeated."""

    sensitive: Annotated[frozenset[str], Strict(False)] = frozenset()
    """Names of arguments, and of fields inside of them, that are sensitive whatever they sound like: they are masked
    in the record, and exact arguments that hold them are not remembered. Names such as `api_key` are so anyway."""

    standing: Literal["never", "arguments", "tool"] | None = None
    """The widest "don't ask again" to offer. `None`: by tier, `"arguments"` for consequential and
    unclassified tools and `"tool"` for the others."""

    ungated_agents: bool = False
    """The operator accepts that agents which the tool starts are without the gate: whatever they call
    runs. Without it a tool that is seen to hold such an agent fails the run before the model is called."""

    reason: str = ""
    """Why the tool has this tier, in one line."""

    @field_validator("groups")
    @classmethod
    def _named_groups(cls, groups: frozenset[str]) -> frozenset[str]:
        if not all(groups):
            raise ValueError("a group's name is empty")
        return groups

    @field_validator("endpoints")
    @classmethod
    def _named_endpoints(cls, endpoints: tuple[str, ...]) -> tuple[str, ...]:
        if not all(endpoints):
            raise ValueError("an endpoint argument's name is empty")
        return endpoints

    @field_validator("input_schema")
    @classmethod
    def _form_like_schema(cls, schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        # A form needs named fields: without them nothing the person types could be told apart.
        if schema is None:
            return None
        properties = schema.get("properties")
        if schema.get("type") != "object" or not isinstance(properties, Mapping) or not properties:
            raise ValueError('a typed-input schema must have "type": "object" and non-empty "properties"')
        return schema

    @property
    def effective_tier(self) -> Tier:
        """The tier, an unclassified tool counted as consequential."""
        return Tier.CONSEQUENTIAL if self.tier is None else self.tier

    @property
    def repeatable(self) -> bool:
        """Whether running the same call again does no further harm."""
        return self.idempotent or self.tier is Tier.READ_ONLY

    @property
    def widest_memory(self) -> Literal["never", "arguments", "tool"]:
        """The widest "don't ask again" that may be offered for the tool."""
        if self.standing is not None:
            return self.standing
        return "arguments" if self.effective_tier is Tier.CONSEQUENTIAL else "tool"

    def without_tier(self) -> ToolProfile:
        """The same restrictions with the classification taken away, that of the results too, and what was accepted."""
        return replace(
            self,
            tier=None,
            data_class=None,
            egress=None,
            zone=None,
            results_trusted=False,
            trusted_fields=frozenset(),
            decisive=None,
            idempotent=False,
            standing=None,
            ungated_agents=False,
        )


_T = TypeVar("_T", bound="BaseTool | Callable[..., Any]")


def tool_profile(
    *,
    tier: Tier | None = None,
    groups: frozenset[str] | set[str] = frozenset(),
    admin_only: bool = False,
    requires_approval: bool = False,
    approval_when: Callable[[Mapping[str, Any]], bool] | None = None,
    input_schema: Mapping[str, Any] | None = None,
    data_class: DataClass | None = None,
    egress: EgressScope | None = None,
    endpoints: tuple[str, ...] | list[str] = (),
    zone: TrustZone | None = None,
    results_trusted: bool = False,
    trusted_fields: frozenset[str] | set[str] = frozenset(),
    decisive: frozenset[str] | set[str] | None = None,
    preview: Callable[[Mapping[str, Any]], str | Awaitable[str]] | None = None,
    idempotent: bool = False,
    sensitive: frozenset[str] | set[str] = frozenset(),
    standing: Literal["never", "arguments", "tool"] | None = None,
    ungated_agents: bool = False,
    reason: str = "",
) -> Callable[[_T], _T]:
    """Attach a `ToolProfile` to a tool or to the function that becomes one.

    Works above and below LangChain's `@tool`. A tool is copied, so that the same tool can have
    another profile elsewhere.

    Args:
        tier: See `ToolProfile`, as for all further arguments.
        groups: Names of groups.
        admin_only: Only an administrator's run may use the tool.
        requires_approval: The explicit approval marker.
        approval_when: A per-call predicate over the effective arguments.
        input_schema: The schema of fields that a person fills in.
        data_class: How sensitive results are.
        egress: How far what a call is given can travel.
        endpoints: The arguments that are addresses.
        zone: Where what a call is given ends up.
        results_trusted: Whether nobody else can have written results.
        trusted_fields: Fields of results that nobody else can have written.
        decisive: The arguments that decide what a call does and to whom.
        preview: Tells what a call would do.
        idempotent: Whether a call may be repeated.
        sensitive: Names of arguments and fields that are masked in the record.
        standing: The widest "don't ask again" to offer.
        ungated_agents: Whether agents that it starts may be without the gate.
        reason: Why the tool has this tier.

    Raises:
        pydantic.ValidationError: If a field has the wrong type.
        CatalogError: If the decorated object is neither a tool nor a function.
    """
    profile = ToolProfile(
        tier=tier,
        groups=frozenset(groups) if isinstance(groups, set) else groups,
        admin_only=admin_only,
        requires_approval=requires_approval,
        approval_when=approval_when,
        input_schema=input_schema,
        data_class=data_class,
        egress=egress,
        endpoints=tuple(endpoints) if isinstance(endpoints, list) else endpoints,
        zone=zone,
        results_trusted=results_trusted,
        trusted_fields=frozenset(trusted_fields) if isinstance(trusted_fields, set) else trusted_fields,
        decisive=frozenset(decisive) if isinstance(decisive, set) else decisive,
        preview=preview,
        idempotent=idempotent,
        sensitive=frozenset(sensitive) if isinstance(sensitive, set) else sensitive,
        standing=standing,
        ungated_agents=ungated_agents,
        reason=reason,
    )

    def attach(target: _T) -> _T:
        if isinstance(target, BaseTool):
            metadata = {**(target.metadata or {}), METADATA_KEY: profile}
            return target.model_copy(update={"metadata": metadata})
        if not callable(target):
            raise CatalogError(f"tool_profile expects a tool or a function, not {target!r}")
        setattr(target, _FUNCTION_ATTRIBUTE, profile)
        return target

    return attach


def profile_of(tool: BaseTool) -> ToolProfile | None:
    """Return the profile that a tool carries, or `None`.

    Only a `ToolProfile` *instance* counts: a remote server can send a dict that looks like one, but
    it cannot send a Python object.
    """
    carried = (tool.metadata or {}).get(METADATA_KEY)
    if isinstance(carried, ToolProfile):
        return carried
    for attribute in ("func", "coroutine"):
        marked = getattr(getattr(tool, attribute, None), _FUNCTION_ATTRIBUTE, None)
        if isinstance(marked, ToolProfile):
            return marked
    return None


def claims_profile(tool: BaseTool) -> bool:
    """Whether the tool's metadata has our key with something that is not a profile."""
    metadata = tool.metadata or {}
    return METADATA_KEY in metadata and not isinstance(metadata[METADATA_KEY], ToolProfile)
