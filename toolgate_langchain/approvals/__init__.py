"""What a *person* said: requests, answers, standing rules, heuristics, the queue and the ledger."""
