"""BatonpassStore, the long-term memory for LangGraph programs."""
