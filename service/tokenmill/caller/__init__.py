"""Calls model servers for the front: reads requests from their topic, and writes the models' output as chunks.

`kinds` has one file per kind of server: the request that makes it return text as the model wrote it. The rest is the
same for all kinds: the pool of URLs, retries, the numbers of chunks, and the recovery of answers whose caller was lost.
"""
