"""The page on the record: its code runs as it stands, and does what it says."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import call as calls
from tests.support import chat, says
from toolgate_langchain.approvals.recording.lines import read_record
from toolgate_langchain.policy.sensitive import MASK

PAGE = (Path(__file__).parents[2] / "docs" / "record.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_pages_code_runs_and_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    begin, sensitive, export, replay = (compile(block, "record.md", "exec") for block in BLOCKS)
    exec(begin, names)
    exec(sensitive, names)
    turn = says(calls("refer", "a", patient="ann", diagnosis="flu", access_token="t"))
    talk = chat([turn], [names["refer"]], gate=names["gate"], middleware=[names["middleware"]])
    talk.say()
    talk.answer(by="dora")
    exec(export, names)
    exec(replay, names)
    names["ledger"].close()
    lines = [line for _, line in read_record((tmp_path / "record.jsonl").read_text().splitlines())]
    # The table names each kind that a call leaves behind.
    for line in lines:
        assert re.search(rf"`{line['kind'].partition('_')[0]}(_\.\.\.)?`", PAGE), line["kind"]
    (decided,) = [line["detail"] for line in lines if line["kind"] == "decided"]
    assert decided["call"]["arguments"] == {"patient": "ann", "diagnosis": MASK, "access_token": MASK}
    assert f"| `{decided['by']['kind']}` |" in PAGE and decided["by"]["id"] == "dora"
    assert names["replayed"].decisions == 2
