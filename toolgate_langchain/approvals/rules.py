"""Standing rules: "don't ask again", keyed by tool, or by tool and exact arguments."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol

from pydantic import AliasGenerator, ConfigDict, Strict, TypeAdapter, model_validator
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

from toolgate_langchain.canonical import canonical_json
from toolgate_langchain.catalog.profile import STRICT
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MAX_RULES_IN_STATE", "RuleIndex", "RuleView", "Scope", "StandingRule", "ToolIdentity", "which_stays"]

MAX_RULES_IN_STATE: Final = 200
"""Rules of one thread kept in the agent's state; further ones go to the ledger, because some
checkpointers write every channel again with every step."""

Scope = Literal["run", "thread", "user"]
"""How far a rule reaches: to the end of the run, to the end of the conversation, or to all conversations of the user
for whom the run ran that it was made in."""


class ToolIdentity(Protocol):
    """What a rule is matched against: a tool, or what was saved of it with a turn."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def origin(self) -> str:
        """Where it comes from."""
        ...

    @property
    def fingerprint(self) -> str:
        """The digest of its definition."""
        ...

    @property
    def tier(self) -> Tier | None:
        """Its tier, `None` if unclassified."""
        ...


_CONFIG = ConfigDict(
    **STRICT,
    alias_generator=AliasGenerator(alias=to_camel),
    validate_by_name=True,
    validate_by_alias=True,
)


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class StandingRule:
    """One remembered allow or deny. Its JSON form is `{"toolName", "arguments", ...}`.

    Made only from a person's answer to a recorded request, and from the recorded call.

    Raises:
        pydantic.ValidationError: (a `ValueError`) for a rule of scope `user` that does not say whose it is and which
            answer made it.
    """

    tool_name: str
    arguments: dict[str, Any] | None = None
    """Exact effective arguments. `None` is any call of the tool; `{}` only calls without any."""

    effect: Literal["allow", "deny"] = "allow"
    scope: Scope = "thread"
    origin: str = "local"
    """Where the tool comes from; a rule for one server's tool never covers another's."""

    fingerprint: str
    """The tool's definition when the rule was made; the rule dies when it changes."""

    tier: Annotated[Tier | None, Strict(False)] = None
    """The tool's tier when the rule was made; the rule dies when it changes."""

    surface: str
    """The surface that the rule was made on and holds on."""

    agent_path: Annotated[tuple[str, ...], Strict(False)] = ()
    """The agent that the rule was made for, from the root."""

    run_id: str | None = None
    """The run that a rule of scope `run` is bound to."""

    caller: str | None = None
    """For whom the run ran that the rule was made in. An allow is not lent to anybody else, and a rule of scope `user`
    is this user's, whatever its effect."""

    request_id: str | None = None
    """The request whose answer made the rule. It is revoked by this id."""

    created_by: str | None = None
    created_at: Annotated[datetime, Strict(False)]
    expires_at: Annotated[datetime | None, Strict(False)] = None
    """From this moment on the rule does not match."""

    @model_validator(mode="after")
    def _somebodys(self) -> StandingRule:
        if self.scope == "user" and (self.caller is None or self.request_id is None):
            raise ValueError('a rule of scope "user" needs the caller whose it is and the request whose answer made it')
        return self

    def to_json(self) -> dict[str, Any]:
        """The JSON form, with names in camel case."""
        plain: dict[str, Any] = _RULE.dump_python(self, mode="json", by_alias=True)
        return plain

    @classmethod
    def from_json(cls, value: Any) -> StandingRule:
        """Read back what `to_json` gave.

        Raises:
            pydantic.ValidationError: If the value is anything else.
        """
        # As JSON text, because strict validation of Python values takes no dict for a model.
        return _RULE.validate_json(json.dumps(value))

    def expired(self, now: datetime) -> bool:
        """Whether the rule has run out."""
        return self.expires_at is not None and now >= self.expires_at

    def holds_for(self, entry: ToolIdentity) -> bool:
        """Whether the tool is still what it was when the rule was made."""
        return self.fingerprint == entry.fingerprint and self.tier is entry.tier

    @property
    def answered_with(self) -> Literal["approve", "reject"]:
        """The answer that makes such a rule."""
        return "approve" if self.effect == "allow" else "reject"

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two rules the same rule."""
        exact = None if self.arguments is None else canonical_json(self.arguments)
        return (
            self.tool_name, exact, self.effect, self.scope, self.origin, self.fingerprint, self.tier, self.surface,
            self.agent_path, self.run_id, self.caller,
        )  # fmt: skip


_RULE = TypeAdapter(StandingRule)


class RuleIndex:
    """Standing rules laid out so that looking one up costs the same with ten and with a million.

    Args:
        rules: The rules. Of two with the same identity the later one stays, but a deny never ends
            sooner because it was said again.
        beside: Further rules, laid out already.
    """

    def __init__(self, rules: Iterable[StandingRule] = (), *, beside: RuleIndex | None = None) -> None:
        unique: dict[tuple[object, ...], StandingRule] = {}
        for rule in rules:
            earlier = unique.get(rule.identity)
            if earlier is None or rule.effect == "allow" or not _ends_later(earlier, rule):
                unique[rule.identity] = rule
        self._beside = beside
        self._by_tool: dict[tuple[str, str], dict[str | None, list[StandingRule]]] = {}
        for rule in unique.values():
            exact = None if rule.arguments is None else canonical_json(rule.arguments)
            self._by_tool.setdefault((rule.tool_name, rule.origin), {}).setdefault(exact, []).append(rule)
        self.rules: tuple[StandingRule, ...] = (*unique.values(), *(() if beside is None else beside.rules))

    def __len__(self) -> int:
        return len(self.rules)

    def matching(self, entry: ToolIdentity, arguments: Mapping[str, Any]) -> list[StandingRule]:
        """Rules written for this tool and these arguments, whether or not they still hold."""
        found = [] if self._beside is None else self._beside.matching(entry, arguments)
        of_tool = self._by_tool.get((entry.name, entry.origin))
        if of_tool is None:
            return found
        found += of_tool.get(None, ())
        if len(of_tool) > (None in of_tool):
            found += of_tool.get(canonical_json(arguments), ())
        return found


def which_stays(kept: StandingRule, made: StandingRule) -> StandingRule:
    """Of two rules with the same identity the one that stays: the later, but a deny never ends sooner for it.

    Args:
        kept: The one that is there.
        made: The one that comes. A replay can bring one that was made before.
    """
    earlier, later = (kept, made) if made.created_at >= kept.created_at else (made, kept)
    return earlier if later.effect == "deny" and _ends_later(earlier, later) else later


def _ends_later(one: StandingRule, other: StandingRule) -> bool:
    return other.expires_at is not None and (one.expires_at is None or one.expires_at > other.expires_at)


class RuleView:
    """The rules of an index that are in force here and now (a `RulesInForce`).

    Args:
        index: All rules of the thread, and those of the caller.
        surface: The run's surface.
        agent_path: The agent, from the root.
        run_id: The run.
        now: The time.
        caller: For whom the run runs.
    """

    __slots__ = ("_agent_path", "_caller", "_index", "_now", "_run_id", "_surface")

    def __init__(
        self,
        index: RuleIndex,
        *,
        surface: str,
        agent_path: tuple[str, ...],
        run_id: str,
        now: datetime,
        caller: str | None = None,
    ) -> None:
        self._index, self._caller = index, caller
        self._surface, self._agent_path, self._run_id, self._now = surface, agent_path, run_id, now

    @property
    def index(self) -> RuleIndex:
        """The rules that it looks among."""
        return self._index

    @property
    def now(self) -> datetime:
        """The time at which it looks."""
        return self._now

    def _reaches(self, rule: StandingRule) -> bool:
        """Whether the rule is meant for this surface, agent, run and caller; a thread's deny holds for all callers."""
        anybodys = rule.effect == "deny" and rule.scope != "user"
        return (
            rule.surface == self._surface
            and rule.agent_path == self._agent_path
            and (rule.scope != "run" or rule.run_id == self._run_id)
            and (anybodys or rule.caller == self._caller)
        )

    def _in_force(self, entry: ToolIdentity, arguments: Mapping[str, Any], effect: str) -> str | None:
        for rule in self._index.matching(entry, arguments):
            # A deny outlives a change of the tool: what a person forbade is not permitted by a new
            # description. Only an allow dies with the definition that it was given for.
            holds = effect == "deny" or rule.holds_for(entry)
            if rule.effect == effect and holds and self._reaches(rule) and not rule.expired(self._now):
                what = "any call of it" if rule.arguments is None else "exactly these arguments"
                by = f" by {rule.created_by}" if rule.created_by else ""
                reach = f"all conversations of {rule.caller}" if rule.scope == "user" else f"this {rule.scope}"
                return f"standing rule for {what}{by}, made {rule.created_at:%Y-%m-%d %H:%M} for {reach}"
        return None

    def denies(self, entry: ToolIdentity, arguments: Mapping[str, Any]) -> str | None:
        """The reason of a standing deny that matches, or `None`."""
        return self._in_force(entry, arguments, "deny") if self._index.rules else None

    def allows(self, entry: ToolIdentity, arguments: Mapping[str, Any]) -> str | None:
        """The reason of a standing allow that matches, or `None`."""
        return self._in_force(entry, arguments, "allow") if self._index.rules else None

    def void(self, entry: ToolIdentity, arguments: Mapping[str, Any]) -> str | None:
        """Why an allow that was made for this call no longer holds, or `None` where there is none."""
        for rule in self._index.matching(entry, arguments):
            if rule.effect != "allow" or not self._reaches(rule):
                continue
            if rule.expired(self._now):
                return f"a standing rule for it expired at {rule.expires_at:%Y-%m-%d %H:%M}"
            if not rule.holds_for(entry):
                changed = "tier" if rule.fingerprint == entry.fingerprint else "definition"
                return f"a standing rule for it is void, because the tool's {changed} changed"
        return None
