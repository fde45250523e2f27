package io.pointsman.tool.bench.contender;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Extraction of version numbers from the output of programs. */
final class VersionsTest {
  private static String said(String script) {
    return Versions.ask(List.of("/bin/sh", "-c", script), Duration.ofSeconds(60));
  }

  @Test
  void theVersionNumberIsFoundInTheOutput() {
    assertThat(said("echo 'vllm-router 0.1.8'")).isEqualTo("0.1.8");
    assertThat(said("echo nginx version: nginx/1.22.1 >&2")).isEqualTo("1.22.1");
  }

  @Test
  void numbersInErrorMessagesAreIgnored() {
    assertThat(said("echo 'usage: router [--threshold 0.5]'; exit 2")).isEmpty();
    assertThat(said("echo no number")).isEmpty();
    assertThat(Versions.ask(List.of("/no/such/program"), Duration.ofSeconds(60))).isEmpty();
  }

  @Test
  void aProgramThatServesInsteadIsEnded() {
    List<String> server = List.of("/bin/sh", "-c", "sleep 2; echo 1.2");

    assertThat(Versions.ask(server, Duration.ofMillis(50))).isEmpty();
  }
}
