"""Values, tables, files and links that try to be something else, two hundred variations each, beside harmless ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from tests.ready_heuristics.asking import says_yes
from tests.redteam.variations import COUNT, variations
from tests.support import Clock, call, chat, says
from tests.toolkits.conftest import ADMIN, ANN, Calls, calls, database, file_tools, root, sql_tools
from toolgate_langchain import (
    EgressPolicy,
    ResourcePolicy,
    StandingRule,
    Surface,
    Tier,
    ToolCatalog,
    ToolGate,
    Verdict,
    tool_profile,
)
from toolgate_langchain.approvals.heuristics import Heuristic
from toolgate_langchain.approvals.ready_heuristics import (
    ArgumentEquals,
    ArgumentInRange,
    GivenByPerson,
    HostIn,
    PathInside,
    ReadOnlySql,
    ShellCommands,
)
from toolgate_langchain.hosts.toolkits import FileResources, SqlResources
from toolgate_langchain.policy.arguments import ArgumentPolicy
from toolgate_langchain.policy.decide import ProposedCall
from toolgate_langchain.policy.resolving import names_elsewhere
from toolgate_langchain.policy.shell_denies import DeniedCommands

__all__ = ["calls", "database", "file_tools", "root", "sql_tools"]  # fixtures of the toolkits' own tests

TABLES = ResourcePolicy(denied=["vault"])
FILES = ResourcePolicy(denied=["private"], separator="/")


def nested(levels: int) -> Any:
    value: Any = 0
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def monstrous(chance: random.Random) -> Any:
    size = chance.choice([10_001, 100_000, 300_000])
    return chance.choice(
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            10 ** chance.randrange(20, 400),
            -(10 ** chance.randrange(20, 400)),
            nested(chance.randrange(65, 10_000)),
            chance.choice("a(['\"$`{<;/\\ ") * size,
            "\ud800" * chance.randrange(1, 99),
            "a\udfff",
            "SELECT " + "(" * size,
            "SELECT (" + "NOT " * chance.randrange(2_000, 9_000) + "1)",
            "https://" + "a" * size,
            "https://api.example.com/" + "\ud800",
            "/" * size,
            "../" * size,
            "~" * size,
            "\0" * size,
            ["https://api.example.com/"] * 3 + [nested(70)],
            {"url": "https://api.example.com/"},
            "SELECT (" + "CASE WHEN 1 THEN " * chance.randrange(200, 500) + ")",
            b"git log",
            object(),
            ("git log",),
            {1: 2},
        ]
    )


def test_no_monstrous_value_is_approved_or_breaks_anything_and_each_takes_a_bounded_time(tmp_path: Path) -> None:
    heuristics: list[Heuristic] = [
        PathInside("act", "x", tmp_path),
        HostIn("act", "x", ["api.example.com"]),
        ReadOnlySql("act", "x", "postgres"),
        ReadOnlySql("act", "x", "sqlite"),
        ShellCommands("act", "x", ["git log"]),
        ArgumentEquals("act", "x", "git log", 5),
        ArgumentInRange("act", "x", 0, 10),
        GivenByPerson("act", ["x"]),
    ]
    chance, words = random.Random(0), ("Write to a@example.com",)
    for _ in range(COUNT):
        value, started = monstrous(chance), process_time()
        assert not any(says_yes(heuristic, x=value, words=words) for heuristic in heuristics)
        assert process_time() - started < 2
    harmless = ["new.txt", "https://api.example.com/", "SELECT 1", "SELECT 1", "git log", "git log", 5, "a@example.com"]
    assert all(says_yes(one, x=value, words=words) for one, value in zip(heuristics, harmless, strict=True))


def test_no_monstrous_value_is_let_through_by_a_policy_or_breaks_it() -> None:
    policies: list[ArgumentPolicy] = [
        EgressPolicy(endpoints=["api.example.com"]),
        DeniedCommands("act", "command", ["rm"]),
    ]

    @tool_profile(tier=Tier.READ_ONLY, egress="configured", endpoints=["url"])
    @tool(args_schema={"type": "object", "properties": {"url": {}, "command": {}}})
    def act(url: Any = None, command: Any = None) -> str:
        """Act."""
        return "acted"

    gate = ToolGate(ToolCatalog.from_tools([act]), [Surface("chat")], argument_policies=policies)
    chance = random.Random(1)
    for _ in range(COUNT):
        value, started = monstrous(chance), process_time()
        for argument in ("url", "command"):
            assert gate.decide(call("act", **{argument: value}), surface="chat").verdict is not Verdict.ALLOW
        assert process_time() - started < 2
    right = call("act", url="https://api.example.com/", command="ls")
    assert gate.decide(right, surface="chat").verdict is Verdict.ALLOW


# --- line 10 --------------------------------------------------------------------------------------


@tool_profile(tier=Tier.CONSEQUENTIAL)
@tool
def wait(timeout_s: int) -> str:
    """Wait."""
    return f"waited {timeout_s!r}"


def written(chance: random.Random, number: int) -> Any:
    return chance.choice([str(number), f" {number} ", f"{number}.0", float(number), f"0{number}", f"+{number}", number])


def test_a_deny_on_a_number_stops_every_way_to_write_it_and_a_range_sees_the_number() -> None:
    gate = ToolGate(ToolCatalog.from_tools([wait]), [Surface("chat")])
    entry, chance = gate.catalog.get("wait"), random.Random(2)
    assert entry is not None
    for _ in range(COUNT):
        number = chance.randrange(2, 1_000)
        rule = StandingRule(
            tool_name="wait",
            arguments={"timeout_s": number},
            effect="deny",
            scope="thread",
            origin="local",
            fingerprint=entry.fingerprint,
            tier=entry.tier,
            surface="chat",
            created_at=Clock()(),
        )
        decisions = [
            gate.decide(call("wait", timeout_s=value), surface="chat", rules=[rule], now=Clock()())
            for value in (written(chance, number), number + 1)
        ]
        assert [decision.code for decision in decisions] == ["standing_deny", "approval_required"]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_true_for_a_number_is_shown_matched_and_run_as_the_number_that_validation_makes_of_it(
    asynchronous: bool,
) -> None:
    script = [
        says(call("wait", "c1", timeout_s=True)),
        says(call("wait", "c2", timeout_s="5", more="x")),
        says(text="done"),
    ]
    gate = ToolGate(heuristics=[ArgumentInRange("wait", "timeout_s", 5, 5)])
    talk = chat(script, [wait], gate=gate, surface="chat", asynchronous=asynchronous)
    talk.say()
    assert repr(talk.request.arguments) == "{'timeout_s': 1}"
    talk.answer()
    assert talk.result("c1") == "waited 1"
    assert talk.result("c2") == "waited 5", "the range sees 5, and what was not declared is not there"


# --- tables and files -----------------------------------------------------------------------------


def reading(chance: random.Random) -> str:
    name = "".join(chance.choice([one.upper(), one]) for one in "vault")
    quoted = chance.choice(
        ["{}", '"{}"', "[{}]", "`{}`", "main.{}", 'main."{}"', '"main".{}', "temp.{}", "({})"]
    ).format(name)
    blank = chance.choice([" ", "\n", "\t", "/**/", " -- x\n", "  ", "\r\n", "/*'*/"])
    shape = chance.choice(
        [
            "SELECT * FROM {}",
            "SELECT 1 UNION SELECT word FROM {}",
            "SELECT (SELECT max(word) FROM {})",
            "SELECT * FROM orders, {}",
            "SELECT * FROM orders JOIN {} ON 1",
            "SELECT * FROM orders WHERE id IN {}",
            "SELECT EXISTS (SELECT 1 FROM {})",
            "WITH x AS (SELECT * FROM {}) SELECT * FROM x",
            "WITH vault AS (SELECT * FROM {}) SELECT * FROM vault",
            "SELECT * FROM (SELECT * FROM {}) AS x",
            "SELECT 1; SELECT * FROM {}",
            "WITH x AS (SELECT 1) SELECT * FROM {}, x",
            "SELECT * FROM orders ORDER BY (SELECT word FROM {})",
            "EXPLAIN SELECT * FROM {}",
            "DELETE FROM {}",
        ]
    )
    return shape.format(quoted).replace(" ", blank)


def test_no_writing_of_a_denied_table_reads_it_or_tells_that_it_is_there(
    sql_tools: list[BaseTool], calls: Callable[..., Calls]
) -> None:
    sql = calls(SqlResources(TABLES).tools(sql_tools))
    for query in variations(reading):
        said = sql(ADMIN, "sql_db_query", query=query)
        assert said.startswith("Error: ") and "sesame" not in said, query
        unknown = "".join("1" if one in "lL" else one for one in query.replace("MAX", "max"))
        if "SELECT" in unknown:  # the letter stands in no keyword that is used
            there, not_there = said.casefold(), sql(ADMIN, "sql_db_query", query=unknown).casefold()
            assert there.replace("vault", "x") == not_there.replace("vau1t", "x"), query
    assert sql(ADMIN, "sql_db_query", query="SELECT item FROM orders WHERE id = 1") == "[('apples',)]"


def path_to_key(chance: random.Random) -> str:
    def step() -> str:
        return chance.choice(
            ["./", "docs/../", "docs/deep/../../", "pay/../", "docs/up/root/", ".//", "nothing/../", "top.txt/../"]
        )

    lead = "".join(step() for _ in range(chance.randrange(4)))
    name = chance.choice(
        [
            "private/key.txt",
            "private//key.txt",
            "private/./key.txt",
            "PRIVATE/key.txt",
            "docs/hidden",
            "private/key.txt/",
            "private/../private/key.txt",
            "Private/KEY.txt",
            "../outside.txt",
            "docs/out",
            "docs/up/outside.txt",
            "private/key.txt\0",
            "~/key.txt",
            " private/key.txt",
            "private\\key.txt",
            "private/key.txt.",
            "private./key.txt",
            "private /key.txt",
            "private/key.txt::$DATA",
        ]
    )
    return lead + name


def test_no_writing_of_a_denied_or_outer_path_reads_it_or_tells_that_it_is_there(
    file_tools: list[BaseTool], root: Path, calls: Callable[..., Calls]
) -> None:
    files = calls(FileResources(root, FILES).tools(file_tools))
    inside = PathInside("act", "path", root / "docs")
    for path in variations(path_to_key):
        for written in (path, f"{root}/{path}"):
            assert files(ADMIN, "read_file", file_path=written) == files(
                ADMIN, "read_file", file_path="docs/nothing.txt"
            )
            assert not says_yes(inside, path=f"{root}/{path}")
    assert files(ADMIN, "read_file", file_path=f"{root}/docs/../docs/a.txt") == "this is docs/a.txt"
    assert says_yes(inside, path=f"{root}/docs/../docs/a.txt")


# --- line 15 --------------------------------------------------------------------------------------


def test_a_link_in_a_path_that_is_moved_while_a_question_is_open_is_noticed(
    file_tools: list[BaseTool], root: Path
) -> None:
    resources = FileResources(root, FILES)
    (read,) = [one for one in resources.tools(file_tools) if one.name == "read_file"]
    gate = ToolGate(ToolCatalog.from_tools([read]), [Surface("chat")], argument_policies=[resources])
    chance, moving = random.Random(3), root / "docs" / "moving"
    targets = [
        root / "top.txt",
        root / "docs/a.txt",
        root / "docs/deep/b.txt",
        root.parent / "outside.txt",
        root / "nothing",
    ]
    entry = gate.catalog.get("read_file")
    assert entry is not None
    for _ in range(COUNT):
        first, second = chance.sample(targets, 2)
        moving.unlink(missing_ok=True)
        moving.symlink_to(first)
        path = chance.choice(["docs/moving", f"{root}/docs/moving", "docs/deep/../moving", "./docs//moving"])
        judged = ProposedCall.of("read_file", {"file_path": path}, entry, gate.rulebook.resolving).arguments
        assert judged is not None
        same = names_elsewhere(entry, {"file_path": path}, judged.values, gate.rulebook.resolving)
        moving.unlink()
        moving.symlink_to(second)
        moved = names_elsewhere(entry, {"file_path": path}, judged.values, gate.rulebook.resolving)
        assert (same, moved) == (False, True)


@pytest.mark.parametrize("path", ["docs/a.txt", "./docs/deep/../a.txt"])
def test_a_path_that_still_names_what_it_named_runs_after_its_approval(
    file_tools: list[BaseTool], root: Path, path: str
) -> None:
    resources = FileResources(root, FILES)
    script = [says(call("write_file", "c", file_path=path, text="new")), says(text="done")]
    talk = chat(
        script, resources.tools(file_tools), gate=ToolGate(argument_policies=[resources]), surface="chat", caller=ANN
    )
    talk.say()
    talk.answer()
    assert "written" in talk.result("c") and (root / "docs/a.txt").read_text() == "new"
