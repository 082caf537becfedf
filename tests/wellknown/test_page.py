"""docs/well-known-tools.md tells what the package knows, tool by tool, and its code runs."""

from __future__ import annotations

import re
from typing import Any

from tests.wellknown.page import PAGE, with_tables
from toolgate_langchain.catalog.wellknown import WELL_KNOWN_TOOLS

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_has_one_table_for_each_package_and_each_is_the_one_of_the_data() -> None:
    assert re.findall(r"^<!-- tools: (\S+) -->$", TEXT, re.MULTILINE) == list(WELL_KNOWN_TOOLS)
    assert with_tables(TEXT) == TEXT
    assert TEXT.count("\n| `") == sum(map(len, WELL_KNOWN_TOOLS.values()))


def test_the_code_of_the_page_runs() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["files"].profile("write_file").standing == "never"
    assert names["files"].profile("read_text_file").tier is not None
