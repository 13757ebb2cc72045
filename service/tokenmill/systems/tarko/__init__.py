"""The formats of the engines of Agent TARS, and the rows that its page shows."""
