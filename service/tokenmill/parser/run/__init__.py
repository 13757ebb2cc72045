"""One step of a parser: what it may ask, the state that it changes, and what comes out of it."""
