"""Benchmarks of the LangGraph saver, beside the savers that LangGraph publishes, in one run.

    python -m benchmarks.langgraph_saver [--only chat] [--postgres URL] [--json]

All are called in turns, in an order that changes; a ratio is the median over the rounds of median by median. SQLite
files of ours and of the others are in one folder, in WAL mode with synchronous=FULL (theirs by default).
"""
