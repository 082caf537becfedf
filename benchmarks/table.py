"""One table for everything that was measured."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Row", "as_markdown"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure, with its bound beside it where it has one."""

    section: str
    what: str
    figure: str
    spread: str = ""
    """Lower to upper quartile, where the figure is a median."""
    detail: str = ""
    bound: str | None = None
    held: bool = True

    @property
    def verdict(self) -> str:
        """Whether the bound is kept."""
        if self.bound is None:
            return ""
        return "yes" if self.held else "NO"


def as_markdown(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| section | what | figure | quartiles | bound | kept | detail |", "| --- " * 7 + "|"]
    for row in rows:
        section, what, figure, spread, detail, bound, _ = astuple(row)
        lines.append(f"| {section} | {what} | {figure} | {spread} | {bound or ''} | {row.verdict} | {detail} |")
    return "\n".join(lines)
