package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.asked;
import static io.pointsman.it.split.SplitFaults.refused;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.tool.sim.FreePorts;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Only prefill and decode workers, with the default configuration. Engines that can compute a
 * prompt alone get whole requests, others never. Closing the cluster checks that no engine got a
 * request that it cannot serve.
 */
@Timeout(180)
@Tag("full")
final class RolesOnlyTest {
  private static final Set<KvConnector> HALVES_ONLY =
      EnumSet.of(
          KvConnector.SGLANG,
          KvConnector.P2P_NCCL,
          KvConnector.MORIIO_READ,
          KvConnector.MORIIO_WRITE);

  private static SplitCluster.Setup usual(KvConnector connector) {
    return SplitCluster.telling(connector).direct().usual("cached-share");
  }

  private static void served(HttpAnswer answer, String rule) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-split")).isEqualTo(rule);
  }

  private static String changed(String more) {
    return BODY.replace("\"model\"", more + ",\"model\"");
  }

  @ParameterizedTest
  @EnumSource
  void aPromptCachedInDecodeIsSplitAgainIfRequired(KvConnector connector) throws IOException {
    boolean whole = !HALVES_ONLY.contains(connector);
    try (SplitCluster cluster = usual(connector).start()) {
      cluster.awaitServed();
      String body = BODY.replace("one two", "two one");
      served(cluster.post(PATH, body), "split");
      cluster.awaitQuiet();
      served(cluster.post(PATH, body), whole ? "cached_on_decode" : "split");
    }
  }

  @ParameterizedTest
  @EnumSource
  void unsplittableRequestsAreServedWholeOrRefusedWithTheReason(KvConnector connector)
      throws IOException {
    boolean whole = !HALVES_ONLY.contains(connector);
    try (SplitCluster cluster = usual(connector).start()) {
      cluster.awaitServed();
      int before = asked(cluster.prefills) + asked(cluster.decodes);
      HttpAnswer two = cluster.post(PATH, changed("\"n\":2"));
      HttpAnswer echo = cluster.post(PATH, changed("\"echo\":true"));
      if (whole) {
        served(two, "unsplittable");
        served(echo, "unsplittable");
      } else {
        unsplittable(two, "several choices (n, best_of)");
        unsplittable(echo, "echo");
        assertThat(asked(cluster.prefills) + asked(cluster.decodes)).isEqualTo(before);
        assertThat(cluster.metric("pointsman_rejects_total", "reason=\"unsplittable\""))
            .isEqualTo(2);
      }
      String text = "{\"model\":\"sim\",\"prompt\":\"one two three\"}";
      assertThat(cluster.post("/tokenize", text).text()).contains("\"count\":");
    }
  }

  /** Checks a refusal without {@code Retry-After}, because a retry has the same result. */
  private static void unsplittable(HttpAnswer answer, String why) {
    assertThat(answer.status()).as(answer.text()).isEqualTo(400);
    assertThat(answer.text())
        .startsWith("{\"error\":{\"message\":\"prefill and decode workers cannot serve this")
        .contains(
            ": "
                + why
                + "\",\"type\":\"invalid_request_error\",\"param\":null,"
                + "\"code\":\"unsplittable\"}}");
    assertThat(answer.header("retry-after")).isNull();
  }

  @ParameterizedTest
  @EnumSource
  void shortPromptsAreSplitIfNoWorkerServesThemWhole(KvConnector connector) throws IOException {
    boolean whole = !HALVES_ONLY.contains(connector);
    try (SplitCluster cluster = usual(connector).set("threshold", 100_000).start()) {
      cluster.awaitServed();
      served(cluster.post(PATH, BODY), whole ? "short_input" : "split");
    }
  }

  @ParameterizedTest
  @EnumSource
  void withoutPrefillDecodeServesIfItCan(KvConnector connector) throws IOException {
    boolean whole = !HALVES_ONLY.contains(connector);
    try (SplitCluster cluster = usual(connector).start()) {
      cluster.awaitServed();
      cluster.worker(cluster.prefills.getFirst()).drain(true);
      int before = asked(cluster.decodes);
      HttpAnswer answer = cluster.post(PATH, BODY.replace("one two", "two one"));
      if (whole) {
        served(answer, "no_prefill");
      } else {
        refused(answer, "none_available");
        assertThat(asked(cluster.decodes)).isEqualTo(before);
      }
    }
  }

  /** An engine of MoRI-IO without a registered address gets no requests. */
  @Test
  void unregisteredEnginesGetNoRequests() throws IOException {
    String nobody = "\"127.0.0.1:" + FreePorts.next() + '"';
    try (SplitCluster cluster =
        SplitCluster.of("moriio", KvConnector.MORIIO_READ)
            .usual("cached-share")
            .set("registration-address", nobody)
            .start()) {
      refused(cluster.post(PATH, BODY), "none_available");
      assertThat(asked(cluster.prefills) + asked(cluster.decodes)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"decode-can-prefill", "prefill-can-decode"})
  void keysForWholeRequestsApplyToOtherProtocolsToo(String key) throws IOException {
    boolean decode = key.startsWith("decode");
    try (SplitCluster cluster = usual(KvConnector.NIXL).set(key, !decode).start()) {
      HttpAnswer answer = cluster.post(PATH, changed("\"n\":2"));
      if (decode) {
        unsplittable(answer, "several choices (n, best_of)");
      } else {
        served(answer, "unsplittable");
      }
    }
  }
}
