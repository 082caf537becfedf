"""Workers that share a ledger and checkpoints: each has an agent, a model and connections of its own."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg.rows import dict_row

from tests.graph.support import graph_chat
from tests.ledger.databases import Databases, Postgres
from tests.ledger.left_open import RESERVES, search_path
from tests.ledger.quick import without_the_disk
from tests.support import Chat, Clock, Recorder, call, chat, says
from toolgate_langchain import SqlLedger, Tier, ToolGate, ToolProfile

FORMS = ["after_model", "after_agent", "graph"]
"""The three places in which a graph asks."""

LEASE = timedelta(minutes=5)


def make_checkpoints(server: Postgres, schema: str) -> None:
    """Make the tables for checkpoints in a schema of PostgreSQL."""
    with _opened(server, schema) as opened:
        PostgresSaver(opened).setup()


def _opened(server: Postgres, schema: str) -> Any:
    reserve = RESERVES[search_path(schema)]
    return reserve.open("checkpoints", server.url(schema), autocommit=True, prepare_threshold=0, row_factory=dict_row)


class Worksite:
    """One database for the ledger and one for checkpoints, and the deeds that were done."""

    def __init__(self, databases: Databases, folder: Path) -> None:
        self.databases, self.clock, self.ran = databases, Clock(), Recorder()
        self.checkpoints = folder / "checkpoints.db"
        self._open = ExitStack()

    def __enter__(self) -> "Worksite":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def saver(self, file: Path | None = None) -> Any:
        """A checkpointer with a connection of its own."""
        if self.databases.postgres is None:
            connection = sqlite3.connect(file or self.checkpoints, check_same_thread=False)
            without_the_disk(connection)
            self._open.callback(connection.close)
            return SqliteSaver(connection)
        opened = _opened(self.databases.postgres, self.databases.name)
        self._open.callback(opened.close)
        return PostgresSaver(opened)

    def ledger(self, kind: Callable[..., SqlLedger] = SqlLedger, **options: Any) -> Any:
        """A ledger as a worker has it; a kind of its own where something is to happen in between."""
        url = self.databases.url.replace("timeout=0.2", "timeout=5")
        made = kind(url, **{"clock": self.clock, "lease": LEASE, "sleep": lambda _: None, **options})
        self._open.callback(made.close)
        return made

    def tools(self) -> list[Any]:
        """Tools of each tier; one of them may be run again."""
        return [
            self.ran.tool("read", ToolProfile(tier=Tier.READ_ONLY, requires_approval=True)),
            self.ran.tool("save", ToolProfile(tier=Tier.ROUTINE)),
            self.ran.tool("send", ToolProfile(tier=Tier.CONSEQUENTIAL)),
        ]

    def worker(
        self,
        *turns: Any,
        form: str = "after_model",
        ledger: Any = None,
        saver: Any = None,
        tools: Sequence[Any] | None = None,
        surface: str = "chat",
        thread: str = "thread",
        **options: Any,
    ) -> Chat:
        """A worker: its own agent on the shared thread. By default its model calls `send` first."""
        gate = ToolGate(ledger=ledger if ledger is not None else self.ledger(), clock=self.clock, **options)
        script = list(turns) or [says(call("send", "s", n=1))]
        about = {"gate": gate, "checkpointer": saver or self.saver(), "thread": thread, "surface": surface}
        tools = self.tools() if tools is None else tools
        if form == "graph":
            return graph_chat(script, tools, **about)
        if form == "after_agent":
            return chat(script, tools, middleware=gate.around(surface=about.pop("surface")), **about)
        return chat(script, tools, **about)


def elsewhere(work: Callable[[], Any]) -> Any:
    """Do something in a thread of its own, as another worker would, and wait for it. Gives what it raised as well."""
    came: list[Any] = []

    def doing() -> None:
        try:
            came.append(work())
        except BaseException as error:
            came.append(error)

    thread = threading.Thread(target=doing)
    thread.start()
    thread.join()
    return came[0]


def saved(talk: Chat) -> list[str]:
    """The ids of all checkpoints of a thread, newest first."""
    found = talk.agent.checkpointer.list({"configurable": {"thread_id": talk.thread}})
    return [one.checkpoint["id"] for one in found]


def forks(talk: Chat) -> int:
    """How many checkpoints of a thread have more than one that goes on from them."""
    found = list(talk.agent.checkpointer.list({"configurable": {"thread_id": talk.thread, "checkpoint_ns": ""}}))
    parents = Counter(one.parent_config["configurable"]["checkpoint_id"] for one in found if one.parent_config)
    return sum(1 for children in parents.values() if children > 1)


def before_first(method: str, meanwhile: Callable[[], Any]) -> type[SqlLedger]:
    """A ledger in which something happens right before its first call of a method."""

    class Meanwhile(SqlLedger):
        happened = False

        def _at_first(self) -> None:
            if not self.happened:
                self.happened = True
                meanwhile()

    def doing(self: Meanwhile, *args: Any, **kwargs: Any) -> Any:
        self._at_first()
        return getattr(SqlLedger, method)(self, *args, **kwargs)

    setattr(Meanwhile, method, doing)
    return Meanwhile
