package io.pointsman.control.peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Maps in MessagePack, as engines send them. */
final class Packed {
  private final Map<String, Object> members = new LinkedHashMap<>();
  private boolean binary;

  /** A registration of a P2P NCCL engine. */
  static Packed registration(String type, String http, String zmq) {
    return new Packed().with("type", type).with("http_address", http).with("zmq_address", zmq);
  }

  /** A notification of LMCache. */
  static Packed notification(String id) {
    return new Packed().with("type", "ProxyNotif").with("req_id", id);
  }

  /** Sets a member: a text, a whole number, an empty list, or nil for any other value. */
  Packed with(String name, Object value) {
    members.put(name, value);
    return this;
  }

  Packed without(String name) {
    members.remove(name);
    return this;
  }

  /** Writes texts as bytes, like old libraries. */
  Packed inBinary() {
    binary = true;
    return this;
  }

  byte[] bytes() {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packMapHeader(members.size());
      for (Map.Entry<String, Object> each : members.entrySet()) {
        text(packer, each.getKey());
        switch (each.getValue()) {
          case String text -> text(packer, text);
          case Integer number -> packer.packInt(number);
          case List<?> list -> packer.packArrayHeader(list.size());
          default -> packer.packNil();
        }
      }
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void text(MessageBufferPacker packer, String text) throws IOException {
    if (binary) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      packer.packBinaryHeader(bytes.length).writePayload(bytes);
    } else {
      packer.packString(text);
    }
  }
}
