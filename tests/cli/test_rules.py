"""`toolgate rules` lists what users have in all their conversations, and revokes it, in a ledger that is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import here
from toolgate_langchain import ApprovalAnswer, Remember, SqlLedger, StandingRule, Tier

MADE = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@dataclass
class Kept:
    """A ledger in a file, with three rules of two users."""

    url: str
    ledger: SqlLedger

    def rule(self, request_id: str, caller: str, **more: Any) -> None:
        fields: dict[str, Any] = {
            "tool_name": "deploy",
            "tier": Tier.ROUTINE,
            "scope": "user",
            "fingerprint": "f",
            "surface": "chat",
            "created_at": MADE,
            **more,
        }
        self.ledger.answer(
            request_id,
            ApprovalAnswer(
                type="reject" if more.get("effect") == "deny" else "approve", remember=Remember("tool", "user")
            ),
        )
        self.ledger.add_user_rule(StandingRule(caller=caller, request_id=request_id, **fields))

    @property
    def ids(self) -> list[str]:
        found: Any = self.ledger.user_rules()
        return [rule.request_id for rule in found]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    made = Kept(url, SqlLedger(url))
    made.rule("r1", "ann", arguments={"to": "prod", "n": 1}, created_by="bob", agent_path=("root", "sub"))
    made.rule("r2", "ann", effect="deny", origin="server:a", expires_at=MADE + timedelta(days=1))
    made.rule("r3", "ben\x1b[2J", arguments={}, expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    yield made
    made.ledger.close()


def test_it_lists_what_from_which_answer_by_whom_and_until_when(kept: Kept) -> None:
    done = here("rules", "--ledger", kept.url)
    assert done.returncode == 0
    blocks = [block.splitlines() for block in done.stdout.strip().split("\n\n")]
    assert blocks == [
        [
            "Rule:     r1",
            'allows deploy (local) with exactly {"n":1,"to":"prod"}',
            "Where:    in all conversations of ann on the surface chat, by the agent root > sub",
            "Said by:  bob, 2026-01-02 03:04 UTC",
            "Until:    it is revoked",
        ],
        [
            "Rule:     r2",
            "forbids deploy (server:a) with any arguments",
            "Where:    in all conversations of ann on the surface chat",
            "Said by:  nobody who is known, 2026-01-02 03:04 UTC",
            "Until:    2026-01-03 03:04 UTC: expired",
        ],
        [
            "Rule:     r3",
            "allows deploy (local) with exactly {}",
            "Where:    in all conversations of ben\\x1b[2J on the surface chat",
            "Said by:  nobody who is known, 2026-01-02 03:04 UTC",
            "Until:    2999-01-01 00:00 UTC",
        ],
    ]


def test_of_one_user_and_as_json(kept: Kept) -> None:
    done = here("rules", "--ledger", kept.url, "--caller", "ann", "--json")
    rules = json.loads(done.stdout)
    assert [(rule["requestId"], rule["effect"], rule["expired"]) for rule in rules] == [
        ("r1", "allow", False),
        ("r2", "deny", True),
    ]
    assert rules[0]["arguments"] == {"n": 1, "to": "prod"}
    assert StandingRule.from_json({name: rules[0][name] for name in rules[0] if name != "expired"}).created_by == "bob"
    assert here("rules", "--ledger", kept.url, "--caller", "nobody", "--json").stdout.strip() == "[]"
    assert "No user has a rule" in here("rules", "--ledger", kept.url, "--caller", "nobody").stdout


def test_it_revokes_one_and_the_record_says_who_did(kept: Kept) -> None:
    done = here("rules", "revoke", "r1", "--ledger", kept.url, "--as", "carl")
    assert (done.returncode, done.stdout.split(".")[0]) == (0, "Rule r1 is revoked")
    assert kept.ids == ["r2", "r3"]
    events: Any = kept.ledger.events()
    assert (events[-1].kind, events[-1].request_id, events[-1].detail["by"]) == ("rule_revoked", "r1", "carl")


def test_the_ledger_may_be_named_before_the_command_or_in_the_environment(kept: Kept) -> None:
    assert here("rules", "--ledger", kept.url, "revoke", "r1").returncode == 0
    assert here("rules", "revoke", "r2", TOOLGATE_LEDGER=kept.url).returncode == 0
    assert "Rule:     r3" in here("rules", TOOLGATE_LEDGER=kept.url).stdout
    assert kept.ids == ["r3"]


def test_what_no_answer_made_is_told_and_changes_nothing(kept: Kept) -> None:
    done = here("rules", "revoke", "r9", "--ledger", kept.url)
    assert done.returncode == 1
    assert "no answer to a request 'r9' made a standing rule" in done.stderr
    assert kept.ids == ["r1", "r2", "r3"]


@pytest.mark.parametrize("command", [["rules"], ["rules", "revoke", "r1"]])
@pytest.mark.parametrize(
    ("url", "told"),
    [
        (None, "say which ledger"),
        ("ledger.db", "a ledger takes"),
        ("mysql://host/ledger", "is no database that a ledger knows"),
        ("sqlite:///nowhere/ledger.db", "no file nowhere/ledger.db"),
    ],
)
def test_a_ledger_that_cannot_be_used_is_refused_with_2(command: list[str], url: str | None, told: str) -> None:
    done = here(*command, *([] if url is None else ["--ledger", url]))
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


def test_a_file_that_is_no_ledger_is_told_with_1(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("these are notes, and nothing that a database wrote; they stay as they are")
    done = here("rules", "--ledger", f"sqlite:///{file}")
    assert done.returncode == 1
    assert "file is not a database" in done.stderr
