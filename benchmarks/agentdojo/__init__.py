"""AgentDojo's tasks and attacks, replayed through a real agent behind the gate."""
