package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.LONG_STREAM;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.refused;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.slowDecode;
import static io.pointsman.it.split.SplitFaults.waits;
import static io.pointsman.it.split.SplitProtocolsTest.WORDS;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The order of requests that wait for prefill and for decode. */
@Tag("full")
class SplitQueuesTest {
  /** The prompt of {@link SplitFaults#BODY} is split, that of {@link #shortBody} is not. */
  private static SplitCluster.Setup queues(SplitCluster.Setup setup) {
    return setup.direct().set("threshold", 20).set("max-prefills", 1).set("slot-wait", "10m");
  }

  private static String named(String body, String name) {
    return body.replaceFirst("\\{", "{\"user\":\"" + name + "\",");
  }

  private static String shortBody(String body) {
    return body.replace(WORDS, "a word");
  }

  /** Takes the only lease of the prefill worker. */
  private static Lease occupyPrefill(SplitCluster cluster) {
    Worker prefill = cluster.worker(cluster.prefills.getFirst());
    return requireNonNull(prefill.tryLease(System.nanoTime(), 1, 0, (_, _) -> {}));
  }

  private static void served(RawClient client, String rule) throws IOException {
    HttpAnswer answer = client.read();
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-split")).isEqualTo(rule);
    client.close();
  }

  /** The users of the decode worker's requests, in order. */
  private static List<String> order(SplitCluster cluster) {
    return cluster.decodes.getFirst().requestLog().stream()
        .map(each -> SplitCluster.body(each).replaceFirst("(?s).*\"user\":\"(\\w+)\".*", "$1"))
        .toList();
  }

  @Test
  void requestsForDecodeAlonePassRequestsThatWaitForPrefill() throws Exception {
    try (SplitCluster cluster = queues(nixl()).start()) {
      Lease taken = occupyPrefill(cluster);
      RawClient first = send(cluster, named(BODY, "first"));
      waits(cluster, 1);
      RawClient second = send(cluster, named(BODY, "second"));
      waits(cluster, 2);

      HttpAnswer quick = cluster.post(PATH, named(shortBody(BODY), "quick"));
      assertThat(quick.status()).as(quick.text()).isEqualTo(200);
      assertThat(quick.header("x-pointsman-split")).isEqualTo("short_input");
      waits(cluster, 2);
      assertThat(cluster.prefills.getFirst().requestLog()).isEmpty();

      taken.ignored();
      served(first, "split");
      served(second, "split");
      assertThat(order(cluster)).containsExactly("quick", "first", "second");
    }
  }

  /** {@code d} arrives while decode is full, and then waits behind {@code a} for prefill. */
  @Test
  void eachQueueIsServedInOrderOfArrival() throws Exception {
    try (SplitCluster cluster = queues(slowDecode()).decodeLimit(1).start()) {
      Lease taken = occupyPrefill(cluster);
      RawClient a = send(cluster, named(BODY, "a"));
      waits(cluster, 1);
      RawClient stream = send(cluster, named(shortBody(LONG_STREAM), "stream"));
      stream.readHead();
      RawClient b = send(cluster, named(shortBody(BODY), "b"));
      waits(cluster, 2);
      RawClient c = send(cluster, named(shortBody(BODY), "c"));
      waits(cluster, 3);
      RawClient d = send(cluster, named(BODY, "d"));
      waits(cluster, 4);

      stream.leave();
      served(b, "short_input");
      served(c, "short_input");
      waits(cluster, 2);
      taken.ignored();
      served(a, "split");
      served(d, "split");
      assertThat(order(cluster)).containsExactly("stream", "b", "c", "a", "d");
      waits(cluster, 0);
    }
  }

  @Test
  void allQueuesShareOneLimitThatBlocksNoRequestForDecode() throws Exception {
    try (SplitCluster cluster = queues(nixl()).set("max-waiting", 1).start()) {
      Lease taken = occupyPrefill(cluster);
      RawClient first = send(cluster, BODY);
      waits(cluster, 1);
      refused(cluster.post(PATH, BODY), "all_busy");
      assertThat(cluster.post(PATH, shortBody(BODY)).status()).isEqualTo(200);
      taken.ignored();
      served(first, "split");
    }
  }

  @Test
  void aRequestIsRefusedAfterItsMaximumWaitForPrefill() throws Exception {
    try (SplitCluster cluster = queues(nixl()).set("slot-wait", "300ms").start()) {
      Lease taken = occupyPrefill(cluster);
      refused(cluster.post(PATH, BODY), "all_busy");
      waits(cluster, 0);
      assertThat(cluster.worker(cluster.decodes.getFirst()).reserved()).isZero();
      assertThat(cluster.decodes.getFirst().requestLog()).isEmpty();
      taken.ignored();
    }
  }

  @Test
  void aLeavingRequestAdmitsTheNextOne() throws Exception {
    try (SplitCluster cluster = queues(nixl()).start()) {
      Lease taken = occupyPrefill(cluster);
      RawClient first = send(cluster, named(BODY, "first"));
      waits(cluster, 1);
      RawClient second = send(cluster, named(BODY, "second"));
      waits(cluster, 2);
      first.leave();
      waits(cluster, 1);
      taken.ignored();
      served(second, "split");
      assertThat(order(cluster)).containsExactly("second");
    }
  }
}
