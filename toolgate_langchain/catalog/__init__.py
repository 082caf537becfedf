"""What a tool *is*: profiles, the catalog of all tools, the operator's records of remote servers."""
