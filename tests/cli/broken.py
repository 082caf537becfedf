"""Cannot be imported."""

agent = 1 // 0
