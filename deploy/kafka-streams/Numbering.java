import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * What a worker does around its parser, on one thread of Kafka Streams: it reads a chunk as JSON, counts it in a state
 * store, and writes an event as JSON, with the same three headers. It parses nothing.
 *
 * <p>Arguments: servers, application, topic to read, topic to write, delivery, milliseconds between commits, folder.
 */
final class Numbering implements Processor<byte[], byte[], byte[], byte[]> {
  private static final String STORE = "numbers";
  private static final ObjectMapper JSON = new ObjectMapper();

  private ProcessorContext<byte[], byte[]> context;
  private KeyValueStore<byte[], Long> numbers;

  @Override
  public void init(ProcessorContext<byte[], byte[]> context) {
    this.context = context;
    this.numbers = context.getStateStore(STORE);
  }

  @Override
  public void process(Record<byte[], byte[]> record) {
    Long before = numbers.get(record.key());
    long number = before == null ? 0 : before + 1;
    numbers.put(record.key(), number);
    try {
      JsonNode chunk = JSON.readTree(record.value());
      String message = chunk.path("message_id").asText();
      ObjectNode event = JSON.createObjectNode();
      event.put("type", "text-delta").put("id", "t0").put("delta", chunk.path("delta").asText());
      event.put("conversation_id", new String(record.key(), StandardCharsets.UTF_8)).put("message_id", message);
      event.put("seq", number).put("time", record.timestamp());
      Headers headers = new RecordHeaders();
      headers.add("tm-message-id", message.getBytes(StandardCharsets.UTF_8));
      headers.add("tm-seq", Long.toString(number).getBytes(StandardCharsets.UTF_8));
      headers.add("tm-opened", Long.toString(record.timestamp()).getBytes(StandardCharsets.UTF_8));
      context.forward(record.withValue(JSON.writeValueAsBytes(event)).withHeaders(headers));
    } catch (IOException problem) {
      throw new UncheckedIOException(problem);
    }
  }

  public static void main(String[] args) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args[4]);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, args[5]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, args[6]);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
    settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    settings.put(StreamsConfig.consumerPrefix("isolation.level"), "read_committed");

    Topology topology = new Topology();
    topology.addSource("in", Serdes.ByteArray().deserializer(), Serdes.ByteArray().deserializer(), args[2]);
    topology.addProcessor("number", Numbering::new, "in");
    topology.addStateStore(
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(STORE), Serdes.ByteArray(), Serdes.Long())
            .withCachingEnabled(),
        "number");
    topology.addSink("out", args[3], Serdes.ByteArray().serializer(), Serdes.ByteArray().serializer(), "number");

    KafkaStreams streams = new KafkaStreams(topology, settings);
    streams.setUncaughtExceptionHandler(problem -> StreamThreadExceptionResponse.SHUTDOWN_APPLICATION);
    streams.setStateListener((now, before) -> {
      System.out.println("state " + now);
      if (now == KafkaStreams.State.ERROR) {
        Runtime.getRuntime().halt(1);
      }
    });
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
  }
}
