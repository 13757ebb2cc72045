"""Benchmarks that run in turns with their reference: machines are shared and noisy, so only the ratio means
something.
"""
