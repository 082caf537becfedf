"""How people see it: the console, and the end of a run."""
