"""Moving in: threads from the databases of other LangGraph checkpointers."""
