package io.pointsman.plane.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FleetNamesTest {
  private static final Duration STEP = Duration.ofMillis(1);

  /** The resolver's responses in order; it blocks without one. */
  private final BlockingQueue<List<String>> answers = new SynchronousQueue<>();

  private final BlockingQueue<String> lookedUp = new LinkedBlockingQueue<>();
  private final FleetNames names = new FleetNames(this::resolve, STEP);

  private List<String> resolve(String host) throws IOException {
    if (host.startsWith("10.")) {
      return List.of(host);
    }
    lookedUp.add(host);
    try {
      List<String> answer = answers.take();
      if (answer.isEmpty()) {
        throw new UnknownHostException(host);
      }
      return answer;
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** Answers the pending lookup and waits for the next one; the answer has then been processed. */
  private void answer(String... addresses) throws InterruptedException {
    answers.put(List.of(addresses));
    assertThat(lookedUp.take()).isEqualTo("a");
  }

  private void begin() throws Exception {
    assertThat(names.of("a")).isEmpty();
    assertThat(lookedUp.take()).isEqualTo("a");
  }

  @AfterEach
  void close() {
    names.close();
  }

  @Test
  void callersNeverWaitForAResolver() throws Exception {
    begin();

    assertThat(names.of("a")).isEmpty();
    assertThat(names.of("10.0.0.7")).containsExactly("10.0.0.7");
  }

  @Test
  void anAddressCountsUntilThreeResponsesLackIt() throws Exception {
    begin();
    answer("10.0.0.1");
    assertThat(names.of("a")).containsExactly("10.0.0.1");
    answer("10.0.0.2", "10.0.0.3");
    answer("10.0.0.3");
    assertThat(names.of("a")).containsExactly("10.0.0.3", "10.0.0.2", "10.0.0.1");
    answer("10.0.0.1");
    answer("10.0.0.2");
    answer();
    answer("10.0.0.2");
    assertThat(names.of("a")).contains("10.0.0.1");

    answer("10.0.0.2");
    assertThat(names.of("a")).containsExactly("10.0.0.2");
  }

  @Test
  void aNameThatWasNeverResolvedIsAnError() throws Exception {
    begin();
    answer();
    assertThatThrownBy(() -> names.of("a"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("a");

    answer("10.0.0.1");
    assertThat(names.of("a")).containsExactly("10.0.0.1");
    answer();
    assertThat(names.of("a")).as("it keeps its addresses").containsExactly("10.0.0.1");
  }

  @Test
  void aNameThatIsNotRetainedIsDropped() throws Exception {
    begin();
    answer("10.0.0.1");
    names.retain(Set.of("a"));
    assertThat(names.of("a")).isNotEmpty();

    names.retain(Set.of());
    assertThat(names.of("a")).isEmpty();
  }
}
