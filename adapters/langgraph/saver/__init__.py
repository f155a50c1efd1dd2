"""BatonpassSaver, the checkpointer for LangGraph programs without a job: put, get, list, threads, `own`."""
