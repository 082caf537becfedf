"""The record: who decided what, on what grounds, what ran and what came of it; and how it is replayed."""
