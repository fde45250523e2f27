package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenedPartsTest {
  @Test
  void allAreClosedNewestFirstDespiteAFailure() {
    List<String> closed = new ArrayList<>();
    Deque<AutoCloseable> parts = new ArrayDeque<>();
    parts.push(() -> closed.add("first"));
    parts.push(
        () -> {
          throw new IOException("not to be closed");
        });
    parts.push(() -> closed.add("last"));

    OpenedParts.closeAll(parts);

    assertThat(closed).containsExactly("last", "first");
    assertThat(parts).isEmpty();
  }
}
