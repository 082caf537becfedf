"""What *may* happen: surfaces, gates, the approval rule, argument policies, and the decision itself.

Everything here is pure: no I/O, no clock, no globals. Time, ids, rules in force and the outcomes of
heuristics come in as arguments.
"""
