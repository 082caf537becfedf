"""What the red team found, as data and as plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolgate_langchain.approvals.shown import show_text
from toolgate_langchain.testing.attacking import ControlOutcome, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NO_HOST", "Finding", "Report"]

NO_HOST = "the gate itself"
"""Stands for the host of an attack that needs none."""


@dataclass(frozen=True)
class Finding:
    """One attack through one host on one surface, and its control."""

    line: int
    attack: str
    tries: str
    host: str
    surface: str
    outcome: Outcome
    why: str
    """What got through, or what refused it, or why it does not apply; empty where there is nothing to add."""
    control: ControlOutcome
    control_why: str


@dataclass(frozen=True)
class Report:
    """All findings of one run of the suite."""

    findings: tuple[Finding, ...]

    @property
    def caught(self) -> tuple[Finding, ...]:
        """The attacks that were caught."""
        return self._with(Outcome.CAUGHT)

    @property
    def let_through(self) -> tuple[Finding, ...]:
        """The attacks that got something past the gate."""
        return self._with(Outcome.LET_THROUGH)

    @property
    def broke(self) -> tuple[Finding, ...]:
        """The attacks that ended with an error, so that nothing is known of them."""
        return self._with(Outcome.BROKE)

    @property
    def refused_by_mistake(self) -> tuple[Finding, ...]:
        """The harmless calls that were refused."""
        return tuple(one for one in self.findings if one.control is ControlOutcome.REFUSED_BY_MISTAKE)

    @property
    def not_applicable(self) -> tuple[Finding, ...]:
        """The attacks that cannot be made there, each with the reason."""
        return self._with(Outcome.NOT_APPLICABLE)

    @property
    def ok(self) -> bool:
        """Whether something was attacked, nothing was let through, nothing broke and nothing harmless was refused."""
        return bool(self.caught) and not (self.let_through or self.broke or self.refused_by_mistake)

    def text(self) -> str:
        """The report in plain words: what was let through first, what does not apply last."""
        sections = [
            ("Let through", [(one, one.why) for one in self.let_through]),
            ("Broke, so that nothing is known", [(one, one.why) for one in self.broke]),
            ("Refused by mistake", [(one, one.control_why) for one in self.refused_by_mistake]),
        ]
        lines = [self.counts]
        for title, found in sections:
            if found:
                lines += ["", f"{title}:", *self._by_attack(found)]
        if self.not_applicable:
            lines += ["", "Not applicable:", *self._by_reason()]
        return "\n".join(lines)

    @property
    def counts(self) -> str:
        """How many attacks ended how, in one line."""
        counts = [
            (self.caught, "caught"),
            (self.let_through, "let through"),
            (self.refused_by_mistake, "refused by mistake"),
            (self.broke, "broke"),
            (self.not_applicable, "not applicable"),
        ]
        return ", ".join(f"{len(found)} {what}" for found, what in counts)

    def __str__(self) -> str:
        return self.text()

    def _with(self, outcome: Outcome) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.outcome is outcome)

    def places(self, found: Iterable[Finding]) -> list[str]:
        """The hosts and surfaces of findings, in as few words as tell them all."""
        all_hosts = {one.host for one in self.findings if one.host != NO_HOST}
        on: dict[str, list[str]] = {}
        for one in found:
            on.setdefault(one.host, []).append(repr(one.surface))
        through: dict[tuple[str, ...], list[str]] = {}
        for host, surfaces in on.items():
            through.setdefault(tuple(dict.fromkeys(surfaces)), []).append(host)
        told = []
        for on_these, hosts in through.items():
            named = ["every host"] if len(hosts) > 1 and set(hosts) >= all_hosts else hosts
            told.append(f"{'; '.join(named)}: surface {', '.join(on_these)}")
        return told

    def _by_attack(self, found: Iterable[tuple[Finding, str]]) -> list[str]:
        """Each attack once, and under it each reason with the places where it held."""
        by_attack: dict[tuple[int, str, str], dict[str, list[Finding]]] = {}
        for one, why in found:
            by_attack.setdefault((one.line, one.attack, one.tries), {}).setdefault(why, []).append(one)
        lines = []
        for (line, name, tries), reasons in by_attack.items():
            lines.append(f"  {line} {name}: {tries}")
            for why, those in reasons.items():
                lines += [f"    {show_text(why).text}", *(f"      {place}" for place in self.places(those))]
        return lines

    def _by_reason(self) -> list[str]:
        """Each reason once, with the attacks that it keeps from being made and where."""
        by_reason: dict[str, list[Finding]] = {}
        for one in self.not_applicable:
            by_reason.setdefault(one.why, []).append(one)
        lines = []
        for why, those in by_reason.items():
            names = dict.fromkeys(f"{one.line} {one.attack}" for one in those)
            lines += [f"  {show_text(why).text}", f"    {', '.join(names)}"]
        return lines
