package io.pointsman.it.support;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.sim.SimEngine;
import java.io.IOException;
import java.net.URI;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a cluster's router has heard of its engines' caches, and where it would go for them. */
public final class Announcements {
  private static final Pattern DECIDED = Pattern.compile("\"url\":\"http://[^\"]*:(\\d+)\"");

  private Announcements() {}

  /**
   * Waits until what is published is heard by the stream, and what it loses is a gap. Who joins
   * late has it repeated without one; what comes while he joins may be missed until the next batch.
   */
  public static void awaitFollowed(Cluster cluster) {
    int engines = cluster.engines().size();
    Await.until(
        "a subscriber of each engine, and nothing missing",
        Await.LONG,
        () ->
            cluster.engines().stream().allMatch(engine -> engine.events().subscribers() == 1)
                && cluster.router().metric("pointsman_kv_event_sources_live", "") == engines);
  }

  /** Waits until the router has heard of so many blocks, none of which a request brought it. */
  public static void awaitBlocks(Cluster cluster, int blocks) {
    Await.until(
        () -> blocks + " blocks, not " + cluster.router().gauge("pointsman_kv_index_blocks"),
        Await.LONG,
        () -> cluster.router().gauge("pointsman_kv_index_blocks") == (double) blocks);
  }

  /** The engine that a completion would be sent to. */
  public static SimEngine chosen(Cluster cluster, String body) throws IOException {
    String question = "{\"path\":\"/v1/completions\",\"hold\":false,\"body\":" + body + "}";
    Answer answer = RawClient.call(cluster.port(), "POST", "/v1/decide", question);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    Matcher port = DECIDED.matcher(answer.text());
    assertThat(port.find()).as(answer.text()).isTrue();
    int of = Integer.parseInt(port.group(1));
    return cluster.engines().stream()
        .filter(engine -> URI.create(engine.url()).getPort() == of)
        .findFirst()
        .orElseThrow();
  }
}
