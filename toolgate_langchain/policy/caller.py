"""For whom a run runs, and what it was configured to use. Both are fixed when the run starts."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Strict, TypeAdapter, field_validator
from pydantic.dataclasses import dataclass

from toolgate_langchain.catalog.profile import STRICT

__all__ = ["Caller", "RunConfiguration", "Skill"]


@dataclass(frozen=True, config=STRICT)
class Caller:
    """For whom a run runs. No caller at all is never an administrator.

    Args:
        id: A stable identifier; never empty.
        admin: Whether admin-only tools are permitted.
    """

    id: str
    admin: bool = False

    @field_validator("id")
    @classmethod
    def _identified(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a caller's id is empty; pass no caller instead")
        return value


@dataclass(frozen=True, config=STRICT)
class Skill:
    """A named piece of instruction that may declare which tools it needs.

    Args:
        name: The skill's name.
        tools: The tools that it declares; `None` declares nothing and has no opinion, an empty
            list declares that it needs none.
        enabled: A disabled skill has no say.
    """

    name: str
    tools: Annotated[tuple[str, ...] | None, Strict(False)] = None
    enabled: bool = True


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RunConfiguration:
    """What a run may use. The caller's list of tools is a request; this is the grant.

    Args:
        groups: The groups that are allowed; `None` allows every group, and tools in no group.
        skills: The skills in use. The run may use the union of what the enabled ones declare; where
            none declares anything, skills restrict nothing. Groups are intersected with that.
        tools: The tools that the caller requests, in order; `None` requests all enabled ones, an
            empty list none.
    """

    groups: Annotated[frozenset[str] | None, Strict(False)] = None
    skills: Annotated[tuple[Skill, ...], Strict(False)] = ()
    tools: Annotated[tuple[str, ...] | None, Strict(False)] = None

    @property
    def skill_tools(self) -> frozenset[str] | None:
        """The union of what enabled skills declare; `None` where none declares anything."""
        declared = [skill.tools for skill in self.skills if skill.enabled and skill.tools is not None]
        return frozenset(name for names in declared for name in names) if declared else None

    def permits(self, name: str, groups: frozenset[str]) -> bool:
        """Whether a tool of this name and these groups is inside the configuration."""
        if self.groups is not None and not groups & self.groups:
            return False
        if (skill_tools := self.skill_tools) is not None and name not in skill_tools:
            return False
        return self.tools is None or name in self.tools

    def to_json(self) -> dict[str, Any]:
        """A plain JSON form, for keeping with a paused run."""
        plain: dict[str, Any] = _CONFIGURATION.dump_python(self, mode="json")
        if self.groups is not None:
            plain["groups"] = sorted(self.groups)
        return plain

    @classmethod
    def from_json(cls, value: Any) -> RunConfiguration:
        """Read back what `to_json` gave.

        Raises:
            pydantic.ValidationError: If the value is anything else.
        """
        # As JSON text: lax validation of Python values would take "no" and 0 for booleans.
        return _CONFIGURATION.validate_json(json.dumps(value))


_CONFIGURATION = TypeAdapter(RunConfiguration)
