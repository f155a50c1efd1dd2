"""Fuzzing: whatever the stored bytes are, reading them gives a value or one of our errors, soon and in little memory.

records.py    real records, and how each is read       mutations.py  what happens to them
running.py    one seed after the other                 __main__.py   python -m tests.fuzz --records 1000000
"""
