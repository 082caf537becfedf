"""Where calls come from: what drives tool calls through the gate."""
