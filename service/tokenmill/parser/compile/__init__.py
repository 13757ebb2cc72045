"""From formats and options to the tables that the machine runs."""
