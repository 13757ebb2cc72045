"""The service: Kafka in, Kafka out, hosted by Faust. `engine` has the steps, `host` the process around them.

Gateways, fronts and tools connect as workers do: the package itself imports no host, for they have Faust nowhere.
"""
