package io.pointsman.tool.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The whole demo over sockets. */
@Timeout(120)
class DemoTest {
  private static String show(DemoSettings settings, CountDownLatch stop) throws Exception {
    StringWriter out = new StringWriter();
    try (Demo demo = Demo.start(settings, "test", new SystemTicker(), new ThreadRandomSource())) {
      new DemoShow(demo, settings, new PrintWriter(out)).run(stop);
    }
    return out.toString();
  }

  @Test
  void chatsAreServedAndSummedUp() throws Exception {
    DemoSettings settings = new DemoSettings(2, "cost", 0, 20, Duration.ofSeconds(3), false);
    String shown = show(settings, new CountDownLatch(1));
    assertThat(shown)
        .contains("http://127.0.0.1:")
        .contains("curl http://127.0.0.1:")
        .contains("engine-1")
        .contains("engine-2")
        .containsPattern("cost: [1-9]\\d* answers, prefix-cache hit \\d+ %")
        .contains("0 errors");
  }

  @Test
  void quietPrintsTheUrlAndTheSummaryOnly() throws Exception {
    DemoSettings settings = new DemoSettings(1, "random", 0, 5, Duration.ofSeconds(1), true);
    String[] lines = show(settings, new CountDownLatch(1)).split(System.lineSeparator(), -1);
    assertThat(lines).hasSize(3);
    assertThat(URI.create(lines[0]).getPort()).isPositive();
    assertThat(lines[1]).startsWith("random: ");
    assertThat(lines[2]).isEmpty();
  }

  @Test
  void stoppingEndsItBeforeItsDuration() throws Exception {
    CountDownLatch stop = new CountDownLatch(1);
    stop.countDown();
    DemoSettings settings = new DemoSettings(1, "random", 0, 1, Duration.ofHours(1), true);
    assertThat(show(settings, stop)).containsPattern("random: \\d+ answers");
  }

  @Test
  void endsWhenTheOutputIsClosed() throws Exception {
    OutputStream closed =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            throw new IOException("Broken pipe");
          }
        };
    DemoSettings settings = new DemoSettings(1, "random", 0, 1, Duration.ofHours(1), false);
    try (Demo demo = Demo.start(settings, "test", new SystemTicker(), new ThreadRandomSource())) {
      new DemoShow(demo, settings, new PrintWriter(closed, false, UTF_8))
          .run(new CountDownLatch(1));
    }
  }

  @ParameterizedTest
  @CsvSource({"nixl,nixl", "sglang,sglang", "p2p_nccl,p2p-nccl", "moriio,moriio-write"})
  @Tag("full")
  void prefillAndDecodeEnginesHandOverWithoutLeaks(String asked, String connector)
      throws Exception {
    DemoSettings settings =
        new DemoSettings(
            1,
            "cache_aware",
            0,
            20,
            Duration.ofSeconds(3),
            false,
            DemoSettings.Split.of("1x2", asked));
    String shown = show(settings, new CountDownLatch(1));
    assertThat(shown)
        .contains("1 prefill and 2 decode engines that hand KV over by " + connector)
        .contains("prefill-1", "decode-1", "decode-2")
        .contains("0 errors")
        .containsPattern("hand-overs [1-9]\\d*, .* leaks 0, wrong fields 0");
  }
}
