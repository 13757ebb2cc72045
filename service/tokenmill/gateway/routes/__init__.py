"""The handlers of every address, one file for each protocol, and the table that describes all of them."""
