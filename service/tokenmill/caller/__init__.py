"""Who calls model servers for the front: takes requests from their topic, and writes what the models say as chunks.

What a server is sent, so that its text comes as the model wrote it, is data of its kind (`kinds`). The rest is the same
for all: places and breakers, retries, numbers of chunks, and what becomes of the answers of a caller that is lost.
"""
