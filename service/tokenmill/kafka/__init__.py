"""What every process of ours has to do with Kafka, whatever it does there: clients, topics, transactions, logs.

`clients` makes aiokafka's clients from the configuration, `calls` gives each call to a broker its limits. What aiokafka
does not do, or not well enough, is in three files: `aiokafka_inside`, `hung_brokers` and `header_names`.
"""
