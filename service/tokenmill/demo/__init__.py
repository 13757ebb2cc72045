"""The whole flow on one machine with nothing installed: embedded broker and Redis, a real worker, sample streams."""
