"""A ledger in a database: what people said outlives the process, and all workers share it."""
