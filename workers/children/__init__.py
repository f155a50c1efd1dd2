"""Child processes: how they are started, kept ready, and told which delivery to run."""
