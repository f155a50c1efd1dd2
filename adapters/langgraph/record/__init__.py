"""What BatonpassSaver stores: checkpoints, pending writes, and forks of checkpoints. No I/O."""
