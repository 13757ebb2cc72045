"""Reads one conversation's records from the topic `events`, from any place on: one consumer follows the log's end, a
cache keeps the latest records, other consumers read older ones, and a dialect makes frames of them.
"""
