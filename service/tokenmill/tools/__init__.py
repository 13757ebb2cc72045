"""Tools: servers of the Model Context Protocol, what they offer, and calls of it.

`server_file` says which servers there are and `connection` reaches one; `catalogue` names what they offer; `calling`
makes a call, and `outcome` and `content` are what comes of it.
"""
