"""How each of our processes reaches Kafka: clients, topics, transactions, logs.

`clients` makes aiokafka's clients from the configuration, `calls` sets the limits of each call to a broker. What
aiokafka does not do, or not well enough, is in four files: `aiokafka_inside`, `hung_brokers`, `header_names` and
`dropped_records`.
"""
