package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** External proxies execute split requests by the plan in the decision. */
class SplitPlanesTest {
  private static final String PATH = "/v1/completions";
  private static final String BODY =
      "{\"model\":\"sim\",\"prompt\":\""
          + SplitProtocolsTest.WORDS
          + "\",\"max_tokens\":5,\"seed\":7,\"min_tokens\":2}";
  private static final Pattern TEXT = Pattern.compile("\"text\":\"((?:[^\"\\\\]|\\\\.)*)\"");

  private static String text(HttpAnswer answer) {
    Matcher matcher = TEXT.matcher(answer.text());
    assertThat(matcher.find()).as(answer.text()).isTrue();
    return matcher.group(1);
  }

  /** The cluster checks at its end that no engine got a wrong field and no block is reserved. */
  @ParameterizedTest
  @EnumSource(names = {"NIXL", "NIXL_PUSH", "P2P_NCCL", "SGLANG", "ORCHESTRATED", "NONE"})
  void aProxyThatFollowsThePlanGetsTheBuiltInProxysResponse(KvConnector connector)
      throws IOException {
    try (SplitCluster cluster = SplitCluster.telling(connector).start()) {
      PlanFollower plane = new PlanFollower(cluster.port());

      PlanFollower.Served served = plane.serve(PATH, BODY);

      String what = served.decision() + "\n" + served.answer().text();
      assertThat(served.answer().status()).as(what).isEqualTo(200);
      assertThat(served.decision().path("split").asText()).as(what).isEqualTo("split");
      assertThat(served.decision().path("worker")).isEqualTo(served.decision().path("decode"));
      assertThat(cluster.prefills.getFirst().kvState().steps().prefill()).as(what).isEqualTo(1);
      assertThat(cluster.decodes.getFirst().kvState().steps().decode()).as(what).isEqualTo(1);
      HttpAnswer proxied = cluster.post(PATH, BODY);
      assertThat(text(served.answer())).as(what).isEqualTo(text(proxied));
    }
  }

  @Test
  void bothLeasesCountAsLoadUntilTheirStepsEnd() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("nixl", KvConnector.NIXL).start()) {
      PlanFollower plane = new PlanFollower(cluster.port());

      JsonNode decision = plane.decide(PATH, BODY, "");

      assertThat(cluster.worker(cluster.prefills.getFirst()).inFlight()).isEqualTo(1);
      assertThat(cluster.worker(cluster.decodes.getFirst()).inFlight()).isEqualTo(1);
      assertThat(plane.say(decision, "prefilled", "{\"outcome\":\"succeeded\"}").status())
          .isEqualTo(200);
      assertThat(plane.say(decision, "prefilled", "{\"outcome\":\"succeeded\"}").status())
          .isEqualTo(409);
      assertThat(cluster.worker(cluster.prefills.getFirst()).inFlight()).isZero();
      assertThat(plane.say(decision, "prefilled", "{\"outcome\":\"nonsense\"}").status())
          .isEqualTo(400);
      assertThat(plane.say(decision, "settle", "{\"outcome\":\"ignored\"}").status())
          .isEqualTo(200);
      assertThat(cluster.worker(cluster.decodes.getFirst()).inFlight()).isZero();
    }
  }

  @Test
  void unsplittableRequestsAreServedWholeWithTheReason() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("nixl", KvConnector.NIXL).start()) {
      PlanFollower plane = new PlanFollower(cluster.port());
      String several = BODY.replace("\"seed\":7", "\"n\":2");

      JsonNode decision = plane.decide(PATH, several, ",\"reserve\":false");

      assertThat(decision.path("split").asText()).isEqualTo("unsplittable");
      assertThat(decision.has("plan")).isFalse();
      assertThat(decision.path("worker").path("url").asText())
          .isEqualTo(cluster.decodes.getFirst().url());
    }
  }

  @Test
  void aProtocolThatNotifiesTheRouterIsServedWhole() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("lmcache", KvConnector.LMCACHE)
            .set("notification-address", "127.0.0.1:0")
            .start()) {
      JsonNode decision = new PlanFollower(cluster.port()).decide(PATH, BODY, ",\"reserve\":false");

      assertThat(decision.path("split").asText()).isEqualTo("needs_router");
      assertThat(decision.has("plan")).isFalse();
    }
  }
}
