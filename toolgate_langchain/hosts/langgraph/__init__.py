"""`create_agent`: the gate as middleware, and what drives, pauses and resumes an agent of LangGraph."""
