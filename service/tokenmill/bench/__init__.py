"""Benchmarks that run their reference beside them: machines are shared and noisy, so only the ratio means something."""
