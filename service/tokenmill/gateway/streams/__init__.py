"""From a checked request to a stream of frames: catch-up from the log, then fan-out, a bounded buffer per client."""
