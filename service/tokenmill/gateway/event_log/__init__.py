"""One conversation's records from the topic `events`, from any place on: a consumer that follows the log's end, a cache
of what came last, consumers that read what is older, and the frames that a dialect makes of it.
"""
