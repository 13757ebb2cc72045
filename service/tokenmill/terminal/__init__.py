"""Output for people: events as lines, tables, and the console to which they are printed."""
