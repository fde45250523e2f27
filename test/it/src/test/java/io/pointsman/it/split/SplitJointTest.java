package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.PATH;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The decode workers of a conversation's successive split turns. */
@Tag("full")
class SplitJointTest {
  private static final int FIRST = 800;
  private static final int MORE = 80;
  private static final int TURNS = 20;

  private static String turn(int turn, int answer, boolean stream) {
    String ids =
        IntStream.range(0, FIRST + turn * MORE)
            .mapToObj(i -> Integer.toString(1000 + i))
            .collect(Collectors.joining(","));
    return "{\"model\":\"sim\",\"prompt\":[%s],\"max_tokens\":%d,\"stream\":%b}"
        .formatted(ids, answer, stream);
  }

  private static void ask(SplitCluster cluster, int turn) throws IOException {
    HttpAnswer answer = cluster.post(PATH, turn(turn, 3, false));
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
    cluster.awaitQuiet();
  }

  private static List<Long> decodes(SplitCluster cluster) {
    return cluster.decodes.stream().map(each -> each.kvState().steps().decode()).sorted().toList();
  }

  @Test
  void turnsOfAConversationGoToTheWorkerWithTheCachedPrompt() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("nixl", KvConnector.NIXL).engines(1, 2).start()) {
      for (int turn = 0; turn < TURNS; turn++) {
        ask(cluster, turn);
      }
      assertThat(decodes(cluster)).containsExactly(0L, (long) TURNS);
      long sent =
          cluster.decodes.stream().mapToLong(each -> each.kvState().transfers().tokens()).sum();
      assertThat(sent).as("each token once").isBetween((long) FIRST, FIRST + (long) MORE * TURNS);
    }
  }

  /** Under a load policy, and with a protocol that always transfers the whole prompt. */
  @ParameterizedTest
  @CsvSource({"nixl, NIXL, least_load", "p2p_nccl, P2P_NCCL, joint"})
  void otherTurnsSpread(String protocol, KvConnector connector, String policy) throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of(protocol, connector).engines(1, 2).set("decode-policy", policy).start()) {
      for (int turn = 0; turn < TURNS; turn++) {
        ask(cluster, turn);
      }
      assertThat(decodes(cluster)).doesNotContain(0L);
    }
  }

  /** The cached part weighs less than one more request in flight. */
  @Test
  void anotherWorkerDecodesWhileTheOneWithTheCacheIsBusy() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("nixl", KvConnector.NIXL)
            .engines(1, 2)
            .engine(e -> e.withLinearLatency(1e6, 50))
            .start()) {
      ask(cluster, 0);
      SimEngine holder = holder(cluster);
      try (RawClient stream = RawClient.connect(cluster.port())) {
        stream.send("POST", PATH, turn(1, 20_000, true)).readHead();
        assertThat(holder.state().requests().inFlight()).isEqualTo(1);
        HttpAnswer answer = cluster.post(PATH, turn(2, 3, false));
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(holder.kvState().steps().decode()).isEqualTo(2);
        assertThat(decodes(cluster)).containsExactly(1L, 2L);
        stream.leave();
      }
      WaitFor.until("the stream is gone", WaitFor.LONG, () -> cluster.router().running() == 0);
    }
  }

  private static SimEngine holder(SplitCluster cluster) {
    return cluster.decodes.stream()
        .filter(each -> each.kvState().steps().decode() == 1)
        .findAny()
        .orElseThrow();
  }
}
