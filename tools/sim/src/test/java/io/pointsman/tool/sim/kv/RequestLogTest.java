package io.pointsman.tool.sim.kv;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RequestLogTest {
  @Test
  void oldestRequestsGoFirst() {
    RequestLog log = new RequestLog(2);
    for (String path : List.of("/a", "/b", "/c")) {
      log.add(logged(path, 1));
    }
    assertThat(log.all()).extracting(RequestLog.Logged::path).containsExactly("/b", "/c");
  }

  @Test
  void bodiesAreBoundedInAll() {
    RequestLog log = new RequestLog(1000);
    for (int i = 0; i < 9; i++) {
      log.add(logged("/" + i, 10 << 20));
    }
    assertThat(log.all()).extracting(RequestLog.Logged::path).hasSize(6).startsWith("/3");
  }

  @Test
  void nothingIsKeptByDefault() {
    assertThat(new RequestLog(0).on()).isFalse();
    RequestLog log = new RequestLog(5);
    log.add(logged("/a", 1));
    log.clear();
    assertThat(log.on()).isTrue();
    assertThat(log.all()).isEmpty();
  }

  private static RequestLog.Logged logged(String path, int bytes) {
    return new RequestLog.Logged("POST", path, List.of(Map.entry("h", "v")), new byte[bytes]);
  }
}
