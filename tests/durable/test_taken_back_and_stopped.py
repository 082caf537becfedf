"""A yes can be taken back until it is used, the switch holds at the last step, no copy of a thread uses a yes again."""

import shutil

import pytest

from tests.durable.workers import FORMS, LEASE, Worksite
from tests.ledger.databases import Databases
from tests.support import call, says
from toolgate_langchain import GatedAgent, ToolGate
from toolgate_langchain.errors import AlreadyAnsweredError, LedgerError
from toolgate_langchain.testing import ScriptedModel

IN_EVERY_FORM = pytest.mark.parametrize("form", FORMS)


@IN_EVERY_FORM
def test_a_yes_is_taken_back_before_it_is_used_and_the_record_shows_both(small_site: Worksite, form: str) -> None:
    talk = small_site.worker(form=form)
    talk.say()
    key = talk.request.request_id
    talk.agent.interrupt_before_nodes = ["tools"]
    talk.answer()
    given = talk.gate.answer(talk.agent, talk.config, {"type": "reject", "request_id": key, "message": "not now"})
    talk.agent.interrupt_before_nodes = []
    talk.invoke(None)
    assert (given.status, small_site.ran.runs) == ("withdrawn", [])
    assert "not now" in talk.result("s")
    events = [one for one in small_site.ledger().events(request_id=key) if one.kind == "answered"]
    assert [event.detail["answer"] for event in events] == ["approve", "reject"]


@IN_EVERY_FORM
def test_the_switch_of_another_worker_holds_after_the_approval(small_site: Worksite, form: str) -> None:
    talk = small_site.worker(form=form)
    talk.say()
    talk.agent.interrupt_before_nodes = ["tools"]
    talk.answer()
    small_site.ledger().stop()
    talk.agent.interrupt_before_nodes = []
    talk.invoke(None)
    assert small_site.ran.runs == []
    assert "stopped" in talk.result("s")


def test_the_switch_holds_in_a_gated_agent(small_site: Worksite) -> None:
    model = ScriptedModel(script=[says(call("send", "s", n=1))])
    agent = GatedAgent(model, small_site.tools(), ToolGate(ledger=small_site.ledger()))
    output = agent.invoke("go")
    assert output["request"] is not None
    small_site.ledger().stop()
    agent.resume(output["session"], {"type": "approve", "request_id": output["request"].request_id})
    assert small_site.ran.runs == []


@IN_EVERY_FORM
def test_a_restored_backup_of_the_checkpoints_cannot_use_the_grant_again(small_site: Worksite, form: str) -> None:
    talk = small_site.worker(form=form)
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    backup = small_site.checkpoints.with_name("backup.db")
    # With all that SQLite keeps beside the file.
    talk.agent.checkpointer.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(small_site.checkpoints, backup)
    talk.resume(answer)
    assert small_site.ran.names == ["send"]
    restored = small_site.worker(says(text="unused"), form=form, saver=small_site.saver(backup))
    with pytest.raises(AlreadyAnsweredError):
        restored.resume(answer)
    small_site.clock.forward(seconds=LEASE.total_seconds())
    restored.resume(answer)
    assert small_site.ran.names == ["send"]
    assert "outcome is unknown" in restored.result("s")


@IN_EVERY_FORM
def test_a_worker_with_another_ledger_is_told_so_and_the_right_one_goes_on(
    small_site: Worksite, sqlite: Databases, form: str
) -> None:
    talk = small_site.worker(form=form)
    talk.say()
    answer = {"type": "approve", "request_id": talk.request.request_id}
    other = small_site.worker(says(text="unused"), form=form, ledger=sqlite.ledger(sqlite.another()))
    with pytest.raises(LedgerError, match="judged with another ledger"):
        other.resume(answer)
    in_memory = small_site.worker(says(text="unused"), form=form, ledger=ToolGate().ledger)
    with pytest.raises(LedgerError, match="judged with another ledger"):
        in_memory.resume(answer)
    assert small_site.ran.runs == []
    talk.resume(answer)
    assert small_site.ran.names == ["send"]
