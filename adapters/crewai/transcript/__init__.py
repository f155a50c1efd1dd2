"""CrewAI's messages and stored checkpoints as portable transcripts. Needs no CrewAI."""
