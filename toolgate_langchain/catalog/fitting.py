"""Whether the arguments that a profile names are arguments of its tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolgate_langchain.catalog.near import hint, near_names

if TYPE_CHECKING:
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["misnamed_argument"]

_OPEN = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_ELSEWHERE = ("$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


def misnamed_argument(entry: CatalogEntry) -> str | None:
    """What is wrong with the arguments that a tool's profile names; `None` where nothing is, or nobody can tell.

    `endpoints` and `decisive` say which arguments a policy looks at: it would look past one that is misspelt. A
    tool whose schema does not list its arguments, or says that there are others, can have any. (`sensitive` also
    names fields inside of arguments, which no schema has to list.)

    Args:
        entry: The tool.
    """
    profile = entry.profile
    if (not profile.endpoints and not profile.decisive) or entry.arguments is None:
        return None
    known = _listed(entry.arguments.json_schema)
    if not known:
        return None
    known |= {*getattr(entry.tool.args_schema, "model_fields", ())} if entry.tool is not None else set()
    for field, names in (("endpoints", profile.endpoints), ("decisive", sorted(profile.decisive or ()))):
        for name in names:
            if name not in known and name.partition(".")[0] not in known:
                return (
                    f"{field} of the profile of {entry.name!r} names {name!r}, which is none of its arguments; "
                    f"{hint(near_names(name, known), known)}"
                )
    return None


def _listed(schema: dict[str, Any]) -> set[str]:
    """The arguments that a schema lists; empty where it may have others."""
    properties = schema.get("properties")
    if (
        not isinstance(properties, dict)
        or any(schema.get(key) for key in _OPEN)
        or any(key in schema for key in _ELSEWHERE)
    ):
        return set()
    return set(properties)
