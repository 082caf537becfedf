"""The tables of docs/well-known-tools.md. `python -m tests.wellknown.page` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

from toolgate_langchain.catalog.wellknown import WELL_KNOWN_TOOLS, WellKnownTool

PAGE = Path(__file__).parents[2] / "docs" / "well-known-tools.md"
HEAD = "| tool | tier | why | sends to | remembered at most |\n| --- | --- | --- | --- | --- |\n"
SENDS = {"none": "nowhere", "configured": "what you configured", "open": "anywhere", None: "not declared"}
REMEMBERED = {"tool": "the tool", "arguments": "exact arguments", "never": "nothing"}


def row(tool: WellKnownTool) -> str:
    """One line of a table."""
    profile = tool.profile
    tier = profile.effective_tier.value.replace("_", "-")
    marks = [
        "always asked" if profile.requires_approval else "",
        "may be repeated" if profile.idempotent else "",
        f"{profile.data_class.value} results" if profile.data_class is not None else "",
    ]
    why = "; ".join([profile.reason, *filter(None, marks)])
    cells = (f"`{tool.name}`", tier, why, SENDS[profile.egress], REMEMBERED[profile.widest_memory])
    return f"| {' | '.join(cells)} |\n"


def with_tables(page: str) -> str:
    """The page with the table after each `<!-- tools: PACKAGE -->` written anew."""
    for package, tools in WELL_KNOWN_TOOLS.items():
        marker = f"<!-- tools: {package} -->\n"
        before, found, after = page.partition(marker)
        if found:
            rest = re.sub(r"\A(\|.*\n)*", "", after)
            page = before + marker + HEAD + "".join(map(row, tools)) + rest
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
