package io.pointsman.control.kvevents.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.kv.KvEvent;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ValueType;

/**
 * Parses batches of KV events in all formats that vLLM and SGLang have used. A batch is an array or
 * a map. An event is an array that begins with its kind, or a map with the kind as {@code type}.
 * Unknown members and events are skipped. Lengths are checked against the batch size before memory
 * is allocated; nesting uses no stack.
 */
public final class BatchReader {
  /** Maximum members of a map or positional event; engines send 15. */
  private static final int MOST_MEMBERS = 64;

  private static final int LONGEST_TEXT = 4096;
  private static final int MOST_RANKS = 1 << 16;

  private static final List<String> BATCH = List.of("ts", "events", "data_parallel_rank");

  private final MessageUnpacker in;
  private final long length;
  private final int mostEvents;
  private boolean positionless;

  private BatchReader(MessageUnpacker in, long length, int mostEvents) {
    this.in = in;
    this.length = length;
    this.mostEvents = mostEvents;
  }

  /**
   * Parses a batch.
   *
   * @param mostEvents maximum number of events
   * @throws MalformedBatch if the payload is malformed or has too many events
   */
  public static EventBatch read(byte[] payload, int mostEvents) throws MalformedBatch {
    try (MessageUnpacker in = MessagePack.newDefaultUnpacker(payload)) {
      EventBatch batch = new BatchReader(in, payload.length, mostEvents).batch();
      if (in.hasNext()) {
        throw new MalformedBatch("batch (expected: nothing after it)");
      }
      return batch;
    } catch (MessagePackException | IOException e) {
      throw new MalformedBatch("batch (expected: MessagePack)");
    }
  }

  private EventBatch batch() throws IOException, MalformedBatch {
    boolean map = next() == ValueType.MAP;
    int members = map ? members(in.unpackMapHeader()) : members(in.unpackArrayHeader());
    double seconds = 0;
    int rank = EventBatch.NO_RANK;
    Events events = null;
    for (int i = 0; i < members; i++) {
      String name = map ? name() : i < BATCH.size() ? BATCH.get(i) : "";
      switch (name) {
        case "ts" -> seconds = seconds();
        case "events" -> events = events();
        case "data_parallel_rank" -> rank = rank();
        default -> in.skipValue();
      }
    }
    if (events == null) {
      throw new MalformedBatch("batch (expected: events)");
    }
    return new EventBatch(seconds, rank, events.known, events.passedOver, positionless);
  }

  private record Events(List<KvEvent> known, int passedOver) {}

  private Events events() throws IOException, MalformedBatch {
    int count = count(in.unpackArrayHeader());
    if (count > mostEvents) {
      throw new MalformedBatch("events (expected: at most " + mostEvents + ")");
    }
    List<KvEvent> known = new ArrayList<>(count);
    int passedOver = 0;
    for (int i = 0; i < count; i++) {
      passedOver += event(known) ? 0 : 1;
    }
    return new Events(known, passedOver);
  }

  /**
   * Reads one event.
   *
   * @return true if its kind is known
   */
  private boolean event(List<KvEvent> into) throws IOException, MalformedBatch {
    EventFields fields = new EventFields(this);
    if (next() == ValueType.MAP) {
      String kind = "";
      int members = members(in.unpackMapHeader());
      for (int i = 0; i < members; i++) {
        String name = name();
        if (name.equals("type")) {
          kind = name();
        } else {
          fields.read(name);
        }
      }
      return fields.make(kind, into);
    }
    int members = members(in.unpackArrayHeader());
    String kind = members == 0 ? "" : name();
    List<String> names = EventFields.positions(kind);
    for (int i = 1; i < members; i++) {
      fields.read(i <= names.size() ? names.get(i - 1) : "");
    }
    fields.positional();
    return fields.make(kind, into);
  }

  private double seconds() throws IOException, MalformedBatch {
    return switch (next()) {
      case FLOAT -> in.unpackDouble();
      case INTEGER -> number();
      case NIL, BOOLEAN, STRING, BINARY, ARRAY, MAP, EXTENSION ->
          throw new MalformedBatch("ts (expected: a number)");
    };
  }

  private int rank() throws IOException, MalformedBatch {
    if (in.tryUnpackNil()) {
      return EventBatch.NO_RANK;
    }
    long rank = number();
    if (rank < 0 || rank >= MOST_RANKS) {
      throw new MalformedBatch("data_parallel_rank (expected: 0 to " + (MOST_RANKS - 1) + ")");
    }
    return (int) rank;
  }

  private int members(int claimed) throws MalformedBatch {
    if (claimed > MOST_MEMBERS) {
      throw new MalformedBatch("members (expected: at most " + MOST_MEMBERS + ")");
    }
    return claimed;
  }

  /** Checks a claimed number of items; each takes at least one byte. */
  int count(int claimed) throws MalformedBatch {
    if (claimed < 0 || claimed > length - in.getTotalReadBytes()) {
      throw new MalformedBatch("batch (expected: items that end within it)");
    }
    return claimed;
  }

  /** Records that blocks are named only by their own tokens. */
  void positionless() {
    positionless = true;
  }

  MessageUnpacker in() {
    return in;
  }

  ValueType next() throws IOException {
    return in.getNextFormat().getValueType();
  }

  /** A whole number; above 2^63 its lowest 64 bits. */
  long number() throws IOException, MalformedBatch {
    MessageFormat format = in.getNextFormat();
    if (format.getValueType() != ValueType.INTEGER) {
      throw new MalformedBatch("value (expected: a whole number)");
    }
    return format == MessageFormat.UINT64 ? in.unpackBigInteger().longValue() : in.unpackLong();
  }

  private String name() throws IOException, MalformedBatch {
    String name = text();
    if (name == null) {
      throw new MalformedBatch("name (expected: a string)");
    }
    return name;
  }

  /** A text; null for nil and for other values, which are skipped. */
  @Nullable String text() throws IOException, MalformedBatch {
    return switch (next()) {
      case STRING -> new String(payload(in.unpackRawStringHeader(), LONGEST_TEXT), UTF_8);
      case BINARY -> new String(payload(in.unpackBinaryHeader(), LONGEST_TEXT), UTF_8);
      case NIL, BOOLEAN, INTEGER, FLOAT, ARRAY, MAP, EXTENSION -> {
        in.skipValue();
        yield null;
      }
    };
  }

  byte[] payload(int size, int most) throws IOException, MalformedBatch {
    if (size > most) {
      throw new MalformedBatch("string (expected: at most " + most + " bytes)");
    }
    return in.readPayload(count(size));
  }
}
