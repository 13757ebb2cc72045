"""The APIs of OpenAI and Anthropic before any model server: requests become records, answers are read from the log.

The front holds nothing that another one needs: who comes back, wherever, finds the answer by its id, by its key or by
what was asked. Who calls the model is `caller`.
"""
