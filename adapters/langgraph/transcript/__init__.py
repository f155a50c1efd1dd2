"""LangChain's messages and stored checkpoints as portable transcripts. Importing this needs no LangChain."""
