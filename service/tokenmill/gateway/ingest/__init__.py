"""Clients' writes: bodies of chunks, checked before they become records, and the producer that writes to Kafka."""
