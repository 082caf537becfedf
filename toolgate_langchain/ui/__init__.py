"""How people see it: the console."""
