"""Parts: a growing state is stored as what is new in it.

A state is split into nodes. Small values are in the checkpoint itself. A large list, dict or text is a part: its body
(the packed items, without a header) consists of spans, which are byte ranges of append-only logs. What the base
(usually the parent) already keeps is referenced by its spans, and only new bytes are sent. So appending costs what is
appended, however long the thread is, and forks share what they have in common. What changes inside a body is found
piece by piece, and each container that grows gets a log of its own.

    body.py    a value as a kind, a count and bytes, and back       split.py   a state as nodes, compared with a base
    spans.py   byte ranges of logs, as stored                       share.py   which bytes a base has already
    nodes.py   what a base remembers                                stored.py  a checkpoint's nodes from stored bytes
    pieces.py  where two bodies are equal inside                    layout.py  in which logs new pieces go
"""
