"""Values: what the text of a value says, and how it is made to fit a schema. Nothing here streams."""
