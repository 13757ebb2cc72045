"""How each of our processes reaches Kafka: clients, topics, transactions, logs.

`clients` makes aiokafka's clients from the configuration, `calls` sets the limits of each call to a broker. What
aiokafka does not do, or not well enough, is in three files: `aiokafka_inside`, `hung_brokers` and `header_names`.
"""
