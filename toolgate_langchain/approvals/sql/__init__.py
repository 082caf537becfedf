"""A ledger in a database: what people said outlives the process, and all workers share it."""

from toolgate_langchain.errors import needs_installed

# Here once for all that is in this folder.
needs_installed(__name__, "sql", "sqlalchemy")
