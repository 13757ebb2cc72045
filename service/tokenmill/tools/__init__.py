"""Tools: complete calls of models, run through the Model Context Protocol.

`server_file` says which servers there are, `connection` speaks to one, `catalogue` names what they offer.
"""
