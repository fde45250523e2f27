package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** URLs of workers. */
class WorkerSpecTest {
  @ParameterizedTest
  @CsvSource({
    "http://h:8000, http://h:8000",
    "http://h:8000/v1, http://h:8000",
    "https://gateway/x/v1, https://gateway/x",
    "https://gateway/x, https://gateway/x",
    "http://h/xv1, http://h/xv1",
    "http://h/v1/x, http://h/v1/x"
  })
  void theVersionAtTheEndOfAUrlIsThatOfTheRequestsPaths(String url, String base) {
    WorkerSpec spec = WorkerSpec.of(url);
    assertThat(spec.base()).isEqualTo(base);
    assertThat(spec.url()).isEqualTo(url);
  }

  @ParameterizedTest
  @CsvSource({
    "localhost:8000, no scheme",
    "h, no scheme",
    "grpc://h:1, not http or https",
    "HTTP://h:1, a scheme in upper case",
    "Https://h:1, a scheme in upper case",
    "http://user:pw@h:1, a user or password",
    "http://user@h/x, a user or password",
    "http://h:99999, not a valid host and port",
    "http://, not a valid host and port",
    "http://h:1?a=b, a query or fragment",
    "http://h:1#a, a query or fragment",
    "http://a b, not a valid host and port",
    "http://h/a b, not a valid path",
    "http://h/%zz, not a valid path"
  })
  void eachSlipInAUrlHasItsReason(String url, String problem) {
    assertThat(WorkerSpec.problemOfUrl(url)).isEqualTo(problem);
  }

  @Test
  void aMessageShowsNoPassword() {
    assertThat(WorkerSpec.shown("http://user:pw@h:1/x")).isEqualTo("http://***@h:1/x");
    assertThat(WorkerSpec.shown("http://user:p/w@h:1")).isEqualTo("http://***@h:1");
    assertThat(WorkerSpec.shown("http://a:1, http://user:pw@h"))
        .isEqualTo("http://a:1, http://***@h");
    assertThat(WorkerSpec.shown("http://user:a, b@h:1")).isEqualTo("http://***@h:1");
    assertThat(WorkerSpec.shown("user:pw@h:1")).isEqualTo("***@h:1");
    assertThat(WorkerSpec.shown("http://")).isEqualTo("http://");
    assertThat(WorkerSpec.shown("http://h:1/x")).isEqualTo("http://h:1/x");
    assertThatThrownBy(() -> HostPort.ofUrl("http://user:pw@h"))
        .hasMessage("url: http://***@h (expected: http://host:port)");
  }

  @Test
  void aUrlWithAPathIsValid() {
    assertThat(WorkerSpec.problemOfUrl("http://h/a@b")).isNull();
    assertThat(WorkerSpec.problemOfUrl("https://gateway/x/")).isNull();
    assertThat(WorkerSpec.problemOfUrl("http://a_b:8000")).isNull();
  }

  @Test
  void anIdCannotForgeALineOfAHeadOrALog() {
    for (String id : List.of("a\r\nx-b: c", "a\u001b[2J", "x".repeat(513))) {
      assertThatThrownBy(
              () -> new WorkerSpec(id, "http://a:1", Role.REGULAR, Set.of(), -1, 0, Map.of()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("(expected: at most 512 characters without control characters)");
    }
  }
}
