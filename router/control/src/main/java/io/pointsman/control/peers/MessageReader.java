package io.pointsman.control.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.peer.Peer.TransferMode;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ValueType;

/**
 * Parses the ZeroMQ messages of engines: maps of texts and small numbers in MessagePack. Lengths
 * are checked against the message size before memory is allocated.
 */
final class MessageReader {
  /** Maximum members of a map; engines send six. */
  private static final int MOST_MEMBERS = 64;

  private MessageReader() {}

  /** An unusable message; the text contains the reason, but not the message. */
  static final class Unusable extends Exception {
    private static final long serialVersionUID = 1;

    Unusable(String message) {
      super(message);
    }
  }

  /**
   * Parses a registration; null for a kind that does not describe a worker.
   *
   * @throws Unusable if the message is not a registration
   */
  static @Nullable Announcement registration(byte[] message) throws Unusable {
    Map<String, Object> map = map(message);
    Role role =
        switch (text(map, "type")) {
          case "P" -> Role.PREFILL;
          case "D" -> Role.DECODE;
          case "HELLO" -> null;
          default -> throw new Unusable("type (expected: P or D)");
        };
    if (role == null) {
      return null;
    }
    try {
      return new Announcement(
          role,
          text(map, "http_address"),
          text(map, "zmq_address"),
          size(map, "dp_size"),
          size(map, "tp_size"),
          mode(map));
    } catch (IllegalArgumentException e) {
      throw new Unusable(String.valueOf(e.getMessage()));
    }
  }

  private static int size(Map<String, Object> map, String name) throws Unusable {
    Object value = map.getOrDefault(name, 1L);
    if (value instanceof Long number && number >= 1 && number <= Announcement.MOST_RANKS) {
      return number.intValue();
    }
    throw new Unusable(name + " (expected: 1 to " + Announcement.MOST_RANKS + ")");
  }

  private static @Nullable TransferMode mode(Map<String, Object> map) throws Unusable {
    Object value = map.get("transfer_mode");
    if (value == null || value.equals("")) {
      return null;
    }
    for (TransferMode mode : TransferMode.values()) {
      if (mode.name().equals(value)) {
        return mode;
      }
    }
    throw new Unusable("transfer_mode (expected: READ or WRITE)");
  }

  /**
   * Parses LMCache's notification and returns its request id.
   *
   * @throws Unusable if the message is not a notification
   */
  static String notification(byte[] message) throws Unusable {
    Map<String, Object> map = map(message);
    if (!text(map, "type").equals("ProxyNotif")) {
      throw new Unusable("type (expected: ProxyNotif)");
    }
    return text(map, "req_id");
  }

  private static String text(Map<String, Object> map, String name) throws Unusable {
    if (map.get(name) instanceof String text) {
      return text;
    }
    throw new Unusable(name + " (expected: a string)");
  }

  /** The members that are texts or whole numbers; all others are skipped. */
  private static Map<String, Object> map(byte[] message) throws Unusable {
    try (MessageUnpacker in = MessagePack.newDefaultUnpacker(message)) {
      if (in.getNextFormat().getValueType() != ValueType.MAP) {
        throw new Unusable("message (expected: a map)");
      }
      int members = in.unpackMapHeader();
      if (members > MOST_MEMBERS) {
        throw new Unusable("message (expected: at most " + MOST_MEMBERS + " members)");
      }
      Map<String, Object> map = HashMap.newHashMap(members);
      for (int i = 0; i < members; i++) {
        Object name = value(in, message.length);
        Object value = value(in, message.length);
        if (name instanceof String text && value != null) {
          map.put(text, value);
        }
      }
      return map;
    } catch (MessagePackException | IOException e) {
      throw new Unusable("message (expected: a map in MessagePack)");
    }
  }

  private static @Nullable Object value(MessageUnpacker in, int most) throws IOException, Unusable {
    return switch (in.getNextFormat().getValueType()) {
      case STRING -> payload(in, in.unpackRawStringHeader(), most);
      case BINARY -> payload(in, in.unpackBinaryHeader(), most);
      case INTEGER -> in.unpackLong();
      case NIL, BOOLEAN, FLOAT, ARRAY, MAP, EXTENSION -> {
        in.skipValue();
        yield null;
      }
    };
  }

  private static String payload(MessageUnpacker in, int length, int most)
      throws IOException, Unusable {
    if (length < 0 || length > most - in.getTotalReadBytes()) {
      throw new Unusable("message (expected: strings that end within it)");
    }
    return new String(in.readPayload(length), UTF_8);
  }
}
