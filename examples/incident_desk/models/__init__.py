"""The models behind the incident desk: an OpenAI-compatible endpoint where one is set, else offline ones.

One module per framework, and none is imported here. The offline models are not language models: they are plain rules
that answer through the framework's own model interface, from nothing but the messages that they are given.
"""
