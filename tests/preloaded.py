"""What processes that are forked from the tests' server find loaded; the server loads it once."""

import gc

import jsonschema
import langchain.agents
import langchain_core.messages.block_translators.langchain_v0
import langchain_core.tracers.context
import langchain_core.tracers.run_collector
import langchain_core.tracers.stdout
import langchain_openai
import langgraph.checkpoint.memory
import langgraph.checkpoint.sqlite.aio
import psycopg
import regex
import sqlalchemy.dialects.postgresql
import sqlalchemy.dialects.sqlite
import vcr

import tests.ledger.quick
import tests.support
import toolgate_langchain.approvals.sql.ledger
import toolgate_langchain.cli.app
import toolgate_langchain.cli.demo
import toolgate_langchain.hosts.gated.agent
import toolgate_langchain.hosts.graphs.graph
import toolgate_langchain.hosts.inside.inner_agents
import toolgate_langchain.hosts.inside.subagents
import toolgate_langchain.hosts.langgraph.around
import toolgate_langchain.hosts.langgraph.driving
import toolgate_langchain.hosts.langgraph.middleware
import toolgate_langchain.ui.console
from tests.cores import all_cores

__all__ = [
    "jsonschema",
    "langchain",
    "langchain_core",
    "langchain_openai",
    "langgraph",
    "psycopg",
    "regex",
    "sqlalchemy",
    "tests",
    "toolgate_langchain",
    "vcr",
]

# No child looks for garbage in it, which would also copy what it shares with the others.
gc.freeze()
# The worker that starts the server keeps to one core; processes that meet on purpose are to meet in every way.
all_cores()
