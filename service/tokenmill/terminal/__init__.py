"""What people see: events as lines, tables, and the console they are printed to."""
