"""Benchmarks: what Batonpass costs, each figure beside a floor that is measured in the same run.

    python -m benchmarks [--only save] [--json]

Ours goes through the public API with everything on: codec, checksum, events, fencing. The floor does the bare minimum
with the same client library on the same server or file system. Rounds are interleaved, call by call; a ratio is the
median over the rounds of median by median, so that a busy machine slows both sides.
"""
