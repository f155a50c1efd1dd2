"""Graphs under a job: running them, their checkpointer, what the hop keeps, and questions."""
