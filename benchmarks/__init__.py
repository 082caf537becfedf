"""What the gate costs, measured side by side. Run `python -m benchmarks`; see README.md."""
