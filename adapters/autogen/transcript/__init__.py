"""AutoGen's messages and stored checkpoints as portable transcripts."""
