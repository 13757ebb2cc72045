"""The service: Kafka in, Kafka out, hosted by Faust. `engine` has the steps, `host` the process around them."""
