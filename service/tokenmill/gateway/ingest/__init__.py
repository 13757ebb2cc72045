"""What clients write: bodies of chunks, checked before they are records, and the producer that writes them to Kafka."""
