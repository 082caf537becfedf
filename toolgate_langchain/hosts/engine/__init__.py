"""What every host shares: a run, a turn as a whole, the last step before a tool, and what each of them tells."""
