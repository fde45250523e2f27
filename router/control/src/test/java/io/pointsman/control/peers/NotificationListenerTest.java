package io.pointsman.control.peers;

import io.pointsman.control.env.SystemTicker;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.zmq.ProxyNotifications;
import io.pointsman.tool.sim.zmq.Sender;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Notifications over ZeroMQ sockets. */
@Timeout(120)
class NotificationListenerTest {
  private final List<String> arrived = new CopyOnWriteArrayList<>();
  private NotificationListener listener;

  @BeforeEach
  void open() throws IOException {
    listener = NotificationListener.open("127.0.0.1:0", this::arrived, new SystemTicker());
  }

  @AfterEach
  void close() {
    listener.close();
  }

  private boolean arrived(String id) {
    arrived.add(id);
    if (id.equals("bug")) {
      throw new IllegalStateException("test: a listener that fails");
    }
    return !id.equals("unknown");
  }

  private void await(String... ids) {
    Await.until(() -> List.of(ids) + ", so far " + arrived, () -> arrived.equals(List.of(ids)));
  }

  private String address() {
    return "127.0.0.1:" + listener.port();
  }

  @Test
  void notificationsOfAllRanksArriveEvenIfNoRequestWaits() {
    try (ProxyNotifications engine = new ProxyNotifications(address())) {
      engine.arrived("r1", 2);
      engine.arrived("unknown", 1);
      engine.arrived("r2", 1);
      await("r1", "r1", "unknown", "r2");
    }
  }

  @Test
  void invalidNotificationsAreSkipped() throws IOException {
    try (Sender push = new Sender(address(), "PUSH")) {
      push.send(new byte[0], false);
      push.send(new byte[] {(byte) 0xdf, 127, 127, 127, 127}, false);
      push.send(Packed.registration("P", "a:1", "a:2").bytes(), false);
      push.send(Packed.notification("r1").bytes(), true);
      push.send(Packed.notification("r2").inBinary().bytes(), false);
      await("r1", "r2");
    }
  }

  @Test
  void aFaultInTheReceiverEndsNothing() {
    try (ProxyNotifications engine = new ProxyNotifications(address())) {
      engine.arrived("bug", 1);
      engine.arrived("r1", 1);
      await("bug", "r1");
    }
  }
}
