"""Rules of scope `user` in every ledger: kept once, revoked for good, the same for all who share it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from sqlalchemy import Connection, text

from tests.cores import every_core
from tests.ledger.databases import Databases
from tests.ledger.test_contract_kept import a_rule
from toolgate_langchain import ApprovalAnswer, InMemoryLedger, Remember, SqlLedger, StandingRule, Tier
from toolgate_langchain.approvals.ledger import AnswerStatus, Said
from toolgate_langchain.policy.context import RunMemory

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_users(made_by: str | None, effect: Literal["allow", "deny"] = "allow", **changes: Any) -> StandingRule:
    return a_rule(**{"scope": "user", "caller": "ann", "request_id": made_by, "effect": effect, **changes})


def said_yes(ledger: InMemoryLedger, *requests: str, thread: str | None = "thread", scope: Any = "user") -> None:
    for request_id in requests:
        ledger.answer(request_id, ApprovalAnswer(type="approve", remember=Remember("tool", scope)), thread_id=thread)


def said_never(ledger: InMemoryLedger, *requests: str) -> None:
    for request_id in requests:
        ledger.answer(request_id, ApprovalAnswer(type="reject", remember=Remember("tool", "user")), thread_id="thread")


class TestKeeping:
    def test_a_rule_is_given_back_as_it_was_to_the_user_whose_it_is(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r1", "r2")
        said_never(ledger, "r3")
        hers = [a_users("r1", arguments={"n": 1.0}, expires_at=NOW + HOUR, created_by="bob"), a_users("r3", "deny")]
        his = a_users("r2", caller="ben")
        for rule in (hers[0], his, hers[1]):
            ledger.add_user_rule(rule)
        assert list(ledger.user_rules("ann")) == hers
        assert list(ledger.user_rules("ben")) == [his]
        assert list(ledger.user_rules("cleo")) == []
        assert list(ledger.user_rules()) == [*hers, his]

    def test_without_an_answer_on_record_there_is_no_rule(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "yes")
        said_never(ledger, "no")
        for rule in (a_users("never asked"), a_users("yes", "deny"), a_users("no")):
            ledger.add_user_rule(rule)
        assert list(ledger.user_rules()) == []

    def test_an_approval_that_was_taken_back_makes_none_whatever_is_replayed(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r")
        ledger.add_user_rule(a_users("r"))
        assert ledger.answer("r", ApprovalAnswer(type="reject")) is AnswerStatus.WITHDRAWN
        assert list(ledger.user_rules("ann")) == []
        ledger.add_user_rule(a_users("r"))
        assert list(ledger.user_rules("ann")) == []

    @pytest.mark.parametrize("missing", ["caller", "request_id"])
    def test_a_rule_that_is_nobodys_or_comes_from_no_answer_is_none(self, missing: str) -> None:
        with pytest.raises(ValueError, match="needs the caller whose it is and the request whose answer made it"):
            a_rule(**{"scope": "user", "caller": "ann", "request_id": "r", missing: None})


class TestTheSameRuleAgain:
    def test_the_same_remember_twice_is_one_rule(self, ledger: InMemoryLedger) -> None:
        """Whether it is replayed, or said again in another answer: then it counts from there."""
        said_yes(ledger, "r1", "r2")
        first, again = a_users("r1"), a_users("r2", created_at=NOW + HOUR, expires_at=NOW + 2 * HOUR)
        for rule in (first, first, again, first):
            ledger.add_user_rule(rule)
        assert list(ledger.user_rules("ann")) == [again]

    @pytest.mark.parametrize("other", [{"arguments": {}}, {"surface": "cli"}, {"agent_path": ("sub",)}, {"tier": None}])
    def test_rules_that_differ_are_two(self, ledger: InMemoryLedger, other: dict[str, Any]) -> None:
        said_yes(ledger, "r1", "r2")
        ledger.add_user_rule(a_users("r1", tier=Tier.ROUTINE))
        ledger.add_user_rule(a_users("r2", **{"tier": Tier.ROUTINE, **other}))
        assert [rule.request_id for rule in ledger.user_rules("ann")] == ["r1", "r2"]

    @pytest.mark.parametrize(
        ("first", "second", "stays"),
        [(None, HOUR, "r1"), (2 * HOUR, HOUR, "r1"), (HOUR, None, "r2"), (HOUR, HOUR, "r2")],
    )
    def test_a_deny_never_ends_sooner_because_it_was_said_again(
        self, ledger: InMemoryLedger, first: timedelta | None, second: timedelta | None, stays: str
    ) -> None:
        said_never(ledger, "r1", "r2")
        ends = [None if one is None else NOW + one for one in (first, second)]
        ledger.add_user_rule(a_users("r1", "deny", expires_at=ends[0]))
        ledger.add_user_rule(a_users("r2", "deny", expires_at=ends[1], created_at=NOW + timedelta(minutes=1)))
        assert [rule.request_id for rule in ledger.user_rules("ann")] == [stays]

    def test_one_that_was_made_earlier_and_comes_later_changes_nothing(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r1", "r2")
        later = a_users("r2", created_at=NOW + HOUR)
        for rule in (later, a_users("r1")):
            ledger.add_user_rule(rule)
        assert list(ledger.user_rules("ann")) == [later]


class TestRevoking:
    def test_a_revoked_rule_is_gone_and_no_replay_brings_it_back(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r1", "r2")
        for made_by in ("r1", "r2"):
            ledger.add_user_rule(a_users(made_by, arguments={"by": made_by}))
        assert ledger.revoke("r1", by="bob", at=NOW) is True
        ledger.add_user_rule(a_users("r1", arguments={"by": "r1"}))
        assert [rule.request_id for rule in ledger.user_rules("ann")] == ["r2"]
        assert ledger.revoke("r1") is True

    def test_one_that_was_revoked_before_it_was_made_is_never_made(self, ledger: InMemoryLedger) -> None:
        """As where the worker died between the answer and the rule."""
        said_yes(ledger, "r")
        assert ledger.revoke("r") is True
        ledger.add_user_rule(a_users("r"))
        assert list(ledger.user_rules()) == []

    def test_a_new_answer_makes_it_anew(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r1", "r2")
        ledger.add_user_rule(a_users("r1"))
        ledger.revoke("r1")
        ledger.add_user_rule(a_users("r2"))
        assert [rule.request_id for rule in ledger.user_rules("ann")] == ["r2"]

    @pytest.mark.parametrize("named", ["r1", "r2", "r3"])
    def test_where_it_was_said_again_any_of_the_answers_names_it(self, ledger: InMemoryLedger, named: str) -> None:
        """And nothing of it is left: no replay of another of these answers brings the rule back."""
        said_yes(ledger, "r1", "r2", "r3")
        rules = [a_users(f"r{number}", created_at=NOW + number * HOUR) for number in (1, 2, 3)]
        for rule in rules:
            ledger.add_user_rule(rule)
        assert ledger.revoke(named) is True
        for rule in rules:
            ledger.add_user_rule(rule)
        assert list(ledger.user_rules()) == []

    def test_what_no_answer_made_cannot_be_revoked(self, ledger: InMemoryLedger) -> None:
        ledger.answer("plain", ApprovalAnswer(type="approve"))
        assert (ledger.revoke("plain"), ledger.revoke("unknown")) == (False, False)
        said_yes(ledger, "unknown")
        ledger.add_user_rule(a_users("unknown"))
        assert len(ledger.user_rules("ann")) == 1

    @pytest.mark.parametrize("thread", ["thread", None])
    @pytest.mark.parametrize("scope", ["thread", "run"])
    def test_a_rule_in_a_state_is_revoked_for_its_thread(
        self, ledger: InMemoryLedger, thread: str | None, scope: str
    ) -> None:
        said_yes(ledger, "r", thread=thread, scope=scope)
        assert ledger.revoke("r") is True
        assert ledger.said("run", thread, None).revoked == {"r"}
        assert ledger.said("run", "another", "ann").revoked == ({"r"} if thread is None else set())

    def test_a_rule_that_was_seen_in_a_state_is_revoked_also_where_its_answer_is_not_on_record(
        self, ledger: InMemoryLedger
    ) -> None:
        """A state in a database outlives a ledger in memory."""
        assert ledger.revoke("r", seen=True) is True
        for thread in ("thread", None):
            assert ledger.said("run", thread, None).revoked == {"r"}

    def test_a_rule_of_a_thread_that_the_ledger_keeps_is_gone_too(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r", scope="thread")
        ledger.add_thread_rule("thread", a_rule(request_id="r"))
        assert ledger.revoke("r") is True
        assert list(ledger.thread_rules("thread")) == []


class TestOneLook:
    """Everything that a decision may depend on, of one moment."""

    def test_nothing_was_said(self, ledger: InMemoryLedger) -> None:
        assert plain(ledger.said("run", "thread", "ann")) == Said(stopped=False, memory=RunMemory())
        assert plain(ledger.said("run", None, None)) == Said(stopped=False, memory=RunMemory())

    def test_it_says_what_each_look_by_itself_says(self, ledger: InMemoryLedger) -> None:
        ledger.stop()
        ledger.note_rejected("run", "key", "send", "r0")
        ledger.note_replaced("run", "other")
        ledger.note_auto_approved("run", "turn")
        said_yes(ledger, "r1", "r2", "r3")
        ledger.add_user_rule(a_users("r1"))
        ledger.add_thread_rule("thread", a_rule(request_id="r2"))
        ledger.add_thread_rule("thread", a_rule(request_id="r5", arguments={}))
        ledger.answer("r2", ApprovalAnswer(type="reject"))
        ledger.revoke("r3")
        said = plain(ledger.said("run", "thread", "ann"))
        assert said == Said(
            stopped=ledger.stopped(),
            memory=ledger.memory("run"),
            thread_rules=tuple(ledger.thread_rules("thread")),
            user_rules=ledger.user_rules("ann"),
            taken_back=ledger.taken_back("thread"),
            revoked=frozenset({"r3"}),
        )
        assert said.stopped and said.memory.rejected == {"key"} and said.taken_back == {"r2"}
        assert ([rule.request_id for rule in said.thread_rules], len(said.user_rules)) == (["r5"], 1)
        other = plain(ledger.said("another run", "another", "ben"))
        assert other == Said(stopped=True, memory=RunMemory())

    def test_a_user_and_a_thread_of_one_name_do_not_share_rules(self, ledger: InMemoryLedger) -> None:
        said_yes(ledger, "r1", "r2")
        ledger.add_user_rule(a_users("r1"))
        ledger.add_thread_rule("ann", a_rule(request_id="r2"))
        said = ledger.said("run", "ann", "ann")
        assert [rule.request_id for rule in (*said.thread_rules, *said.user_rules)] == ["r2", "r1"]

    def test_while_nothing_changes_the_rules_are_the_very_same_object(self, ledger: InMemoryLedger) -> None:
        """So that they are laid out once and not for every decision."""
        said_yes(ledger, "r1", "r2", "r3")
        ledger.add_user_rule(a_users("r1"))
        ledger.add_thread_rule("thread", a_rule(request_id="r2"))
        first, second = (ledger.said("run", "thread", "ann") for _ in range(2))
        assert first.user_rules is second.user_rules
        assert first.thread_rules is second.thread_rules is ledger.thread_rules("thread")
        ledger.add_user_rule(a_users("r3", arguments={}))
        third = ledger.said("run", "thread", "ann")
        assert len(third.user_rules) == 2
        assert third.thread_rules is first.thread_rules


def plain(said: Said) -> Said:
    return said._replace(thread_rules=tuple(said.thread_rules), user_rules=tuple(said.user_rules))


class TestQuiet:
    """What lets a call run at once: nothing was said that could hold it back."""

    def test_a_users_deny_ends_the_quiet_of_this_user_alone(self) -> None:
        ledger = InMemoryLedger()
        said_yes(ledger, "r1")
        ledger.add_user_rule(a_users("r1"))
        assert ledger.quiet("run", "thread", "ann") is True
        said_never(ledger, "r2")
        ledger.add_user_rule(a_users("r2", "deny"))
        assert ledger.quiet("run", "thread", "ann") is False
        assert ledger.quiet("run", "thread", "ben") is ledger.quiet("run", "thread", None) is True
        ledger.revoke("r2")
        assert ledger.quiet("run", "thread", "ann") is True


class TestSharedByWorkers:
    """Through a ledger object of its own, as every worker has one."""

    def test_what_one_revokes_holds_for_the_others_from_their_next_look(self, databases: Databases) -> None:
        one, other = databases.ledger(), databases.ledger()
        said_yes(one, "r1", "r2")  # type: ignore[arg-type]  # where no loop runs it is as synchronous as the other
        one.add_user_rule(a_users("r1"))
        one.add_thread_rule("thread", a_rule(request_id="r2"))
        for _ in range(2):
            assert [len(rules) for rules in seen(other)] == [1, 1]
        one.revoke("r1")
        assert [len(rules) for rules in seen(other)] == [1, 0]
        one.revoke("r2")
        assert [len(rules) for rules in seen(other)] == [0, 0]

    @pytest.mark.parametrize(
        "statement", ["DELETE FROM toolgate_rules", "UPDATE toolgate_rules SET rule = replace(rule, 'send', 'save')"]
    )
    def test_so_does_what_is_changed_by_hand(self, databases: Databases, statement: str) -> None:
        one, other = databases.ledger(), databases.ledger()
        said_yes(one, "r")  # type: ignore[arg-type]
        one.add_user_rule(a_users("r"))
        before = seen(other)
        by_hand(one, statement)
        after = seen(other)
        assert [rule.tool_name for rule in before[1]] == ["send"]
        assert [rule.tool_name for rule in after[1]] == ([] if "DELETE" in statement else ["save"])

    def test_so_does_a_table_that_is_emptied(self, postgresql: Databases) -> None:
        one, other = postgresql.ledger(), postgresql.ledger()
        said_yes(one, "r")  # type: ignore[arg-type]
        one.add_user_rule(a_users("r"))
        assert len(seen(other)[1]) == 1
        by_hand(one, "TRUNCATE toolgate_rules")
        assert len(seen(other)[1]) == 0

    def test_rules_are_read_again_only_where_they_changed(
        self, sqlite: Databases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger, read = sqlite.ledger(), list[Any]()
        said_yes(ledger, "r1", "r2", "r3")  # type: ignore[arg-type]
        ledger.add_user_rule(a_users("r1"))
        ledger.add_thread_rule("thread", a_rule(request_id="r2"))
        plainly = StandingRule.from_json

        def reading(value: Any) -> StandingRule:
            read.append(value)
            return plainly(value)

        monkeypatch.setattr(StandingRule, "from_json", reading)
        for _ in range(3):
            seen(ledger)
        assert len(read) == 2
        ledger.add_user_rule(a_users("r3", arguments={}))
        read.clear()
        seen(ledger)
        assert [rule["requestId"] for rule in read] == ["r1", "r3"]

    @every_core()
    def test_many_workers_who_make_and_revoke_one_rule_at_once_leave_one_or_none(self, databases: Databases) -> None:
        """Each waits for the others where it must, none for ever, and what is revoked in the end stays so."""
        ledger, makers = databases.ledger(), [f"r{number}" for number in range(4)]
        said_yes(ledger, *makers)  # type: ignore[arg-type]
        rules = [a_users(made_by, created_at=NOW + number * HOUR) for number, made_by in enumerate(makers)]
        with ThreadPoolExecutor(8) as pool:
            work: list[Any] = [pool.submit(ledger.add_user_rule, rule) for rule in rules * 3]
            work += [pool.submit(ledger.revoke, made_by) for made_by in makers[:2]]
            for one in work:
                one.result()
        assert len(seen(ledger)[1]) <= 1
        for made_by in makers:
            ledger.revoke(made_by)
        for rule in rules:
            ledger.add_user_rule(rule)
        assert len(seen(ledger)[1]) == 0

    def test_the_record_says_who_revoked_which_rule(self, sql: SqlLedger) -> None:
        said_yes(sql, "r1", "r2")  # type: ignore[arg-type]
        sql.add_user_rule(a_users("r1"))
        sql.add_user_rule(a_users("r1"))
        sql.add_user_rule(a_users("r2", created_at=NOW + HOUR))
        sql.revoke("r1", by="bob", at=NOW + HOUR)
        sql.revoke("r2", by="carl")
        events: Any = sql.events()
        told = [(one.kind, one.request_id, one.detail.get("by")) for one in events if one.kind.startswith("rule")]
        assert told == [("rule_kept", "r1", None), ("rule_kept", "r2", None), ("rule_revoked", "r2", "bob")]
        assert events[-1].at == NOW + HOUR


def seen(ledger: SqlLedger) -> tuple[Any, Any]:
    said: Any = ledger.said("run", "thread", "ann")
    return said.thread_rules, said.user_rules


def by_hand(ledger: SqlLedger, statement: str) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text(statement))

    ledger._database.write(work)
