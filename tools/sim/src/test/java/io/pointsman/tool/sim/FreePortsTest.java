package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FreePortsTest {
  private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

  @Test
  void eachPortIsFreeAndComesOnce() throws Exception {
    Set<Integer> ports = new HashSet<>();
    for (int i = 0; i < 150; i++) {
      int port = FreePorts.next();
      assertThat(ports.add(port)).as("%d comes once", port).isTrue();
      new ServerSocket(port, 1, LOOPBACK).close();
    }
  }

  @Test
  void aListenerKeepsTheBlockFromOtherProcesses() {
    int guard = FreePorts.next() / 100 * 100;
    assertThatThrownBy(() -> new ServerSocket(guard, 1, LOOPBACK).close())
        .isInstanceOf(BindException.class);
  }
}
