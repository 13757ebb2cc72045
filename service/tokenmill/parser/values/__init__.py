"""Values: what the text of a value means, and how it is made to fit a schema. Nothing here streams."""
