"""The HTTP APIs of OpenAI and Anthropic, in front of any model server.

A front writes each request as a record and reads the answer from the log of events; `caller` calls the model server. It
keeps no state that another front needs: a client that comes back, to any front, finds its answer by the answer's id, by
its `Idempotency-Key`, or by the same body.
"""
