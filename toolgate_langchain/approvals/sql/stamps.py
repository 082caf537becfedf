"""A stamp for the rules of each owner, by which a worker sees that none of them changed without reading them again.

The database itself gives a new stamp whenever a rule comes, changes or goes, by whatever statement, also one that is
typed by hand. Stamps are random: one that was counted could stand for other rules after a backup was restored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import Column, Table, Text

from toolgate_langchain.approvals.sql.tables import METADATA, RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.approvals.rules import StandingRule

__all__ = ["MAKE_STAMPS", "STAMPS", "Kept", "KeptRules"]

STAMPS: Final = Table(
    "toolgate_rule_stamps",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("stamp", Text, nullable=False),
)
"""The stamp of each owner's rules; none where nobody ever made any."""

# Names of tables are ours, so nothing of anybody else comes into these statements.
_EVENTS: Final = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}


def _anew(row: str) -> str:
    """Give the owner of a row a new stamp, in SQLite."""
    return (
        f"DELETE FROM {STAMPS.name} WHERE scope = {row}.scope AND owner = {row}.owner; "  # noqa: S608
        f"INSERT INTO {STAMPS.name} VALUES ({row}.scope, {row}.owner, hex(randomblob(16))); "
    )


MAKE_STAMPS: Final = {
    "sqlite": [
        f"CREATE TRIGGER toolgate_rules_{verb.lower()} AFTER {verb} ON {RULES.name} "
        f"BEGIN {''.join(map(_anew, rows))}END"
        for verb, rows in _EVENTS.items()
    ],
    "postgresql": [
        "CREATE FUNCTION toolgate_stamp_rules() RETURNS trigger LANGUAGE plpgsql AS $$ "  # noqa: S608
        "DECLARE changed RECORD; BEGIN "
        f"IF TG_OP = 'TRUNCATE' THEN DELETE FROM {STAMPS.name}; RETURN NULL; END IF; "
        # A rule that changes hands is another's by now, and no longer its owner's.
        "FOR changed IN SELECT OLD.scope, OLD.owner WHERE TG_OP <> 'INSERT' "
        "UNION SELECT NEW.scope, NEW.owner WHERE TG_OP <> 'DELETE' LOOP "
        f"INSERT INTO {STAMPS.name} VALUES (changed.scope, changed.owner, gen_random_uuid()::text) "
        "ON CONFLICT (scope, owner) DO UPDATE SET stamp = excluded.stamp; END LOOP; RETURN NULL; END $$",
        f"CREATE TRIGGER toolgate_rules_changed AFTER INSERT OR UPDATE OR DELETE ON {RULES.name} "
        "FOR EACH ROW EXECUTE FUNCTION toolgate_stamp_rules()",
        f"CREATE TRIGGER toolgate_rules_emptied AFTER TRUNCATE ON {RULES.name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION toolgate_stamp_rules()",
    ],
}
"""What makes the stamps, for each database; run once, when the tables are made."""

_OWNERS: Final = 256
"""Owners whose rules are kept read; those of more are read again when they come round."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The rules of one owner as they were read, with the stamp of that moment."""

    stamp: str = ""
    rules: Sequence[StandingRule] = ()


class KeptRules:
    """Rules that were read before. They count only where the database still has their stamp.

    Safe to use from several threads: whatever one puts in place of another's is checked like any other.
    """

    def __init__(self) -> None:
        self._by_owner: dict[tuple[str, str], Kept] = {}

    def of(self, scope: str, owner: str | None) -> Kept:
        """What was read last of an owner; nothing where that is unknown, or there is no owner."""
        return _NOTHING if owner is None else self._by_owner.get((scope, owner), _NOTHING)

    def keep(self, scope: str, owner: str, read: Kept) -> None:
        """Keep what was read of an owner."""
        if len(self._by_owner) >= _OWNERS:
            self._by_owner = {}
        self._by_owner[scope, owner] = read


_NOTHING: Final = Kept()
