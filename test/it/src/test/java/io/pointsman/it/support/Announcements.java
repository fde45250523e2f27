package io.pointsman.it.support;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.net.URI;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** KV events received by a cluster's router, and the decisions that follow from them. */
public final class Announcements {
  private static final Pattern DECIDED = Pattern.compile("\"url\":\"http://[^\"]*:(\\d+)\"");

  private Announcements() {}

  /**
   * Waits until events arrive on the stream and a lost batch is a gap. A late subscriber gets
   * earlier batches by a replay without a gap. A batch sent while it subscribes may be missing
   * until the next batch.
   */
  public static void awaitFollowed(Cluster cluster) {
    int engines = cluster.engines().size();
    WaitFor.until(
        "a subscriber of each engine, and nothing missing",
        WaitFor.LONG,
        () ->
            cluster.engines().stream().allMatch(engine -> engine.events().subscribers() == 1)
                && cluster.router().metric("pointsman_kv_event_sources_live", "") == engines);
  }

  /** Waits until the router knows this many blocks, all of them from KV events. */
  public static void awaitBlocks(Cluster cluster, int blocks) {
    WaitFor.until(
        () -> blocks + " blocks, not " + cluster.router().gauge("pointsman_kv_index_blocks"),
        WaitFor.LONG,
        () -> cluster.router().gauge("pointsman_kv_index_blocks") == (double) blocks);
  }

  /** The engine that a completion would be sent to. */
  public static SimEngine chosen(Cluster cluster, String body) throws IOException {
    String question = "{\"path\":\"/v1/completions\",\"reserve\":false,\"body\":" + body + "}";
    HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/v1/decide", question);
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
