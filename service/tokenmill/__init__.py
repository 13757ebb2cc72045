"""tokenmill: the raw token stream of a language model in, clean events out."""
