"""Who a client is, what it may do, and how many connections it may have: keys, JSON Web Tokens, tickets."""
