package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import org.msgpack.core.MessagePack;
import org.msgpack.value.Value;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** The router's ZeroMQ socket: receives registrations (ROUTER) or notifications (PULL). */
final class ZmqRouter implements AutoCloseable {
  private static final int HANG_MILLIS = 60_000;

  private final ZContext context = new ZContext(1);
  private final ZMQ.Socket socket;
  private final int port;

  private ZmqRouter(SocketType type) {
    socket = context.createSocket(type);
    socket.setLinger(0);
    socket.setReceiveTimeOut(HANG_MILLIS);
    port = socket.bindToRandomPort("tcp://127.0.0.1");
  }

  static ZmqRouter bind() {
    return new ZmqRouter(SocketType.ROUTER);
  }

  static ZmqRouter pull() {
    return new ZmqRouter(SocketType.PULL);
  }

  String address() {
    return "127.0.0.1:" + port;
  }

  /** The next message, a map of texts; numbers as texts. */
  Map<String, String> next() throws IOException {
    byte[] frame = socket.recv();
    assertThat(frame).as("a message in time").isNotNull();
    while (socket.hasReceiveMore()) {
      frame = socket.recv();
    }
    Map<String, String> map = new TreeMap<>();
    try (var unpacker = MessagePack.newDefaultUnpacker(frame)) {
      for (Map.Entry<Value, Value> entry : unpacker.unpackValue().asMapValue().map().entrySet()) {
        Value value = entry.getValue();
        String text = value.isStringValue() ? value.asStringValue().asString() : value.toJson();
        map.put(entry.getKey().asStringValue().asString(), text);
      }
    }
    return map;
  }

  @Override
  public void close() {
    context.close();
  }
}
