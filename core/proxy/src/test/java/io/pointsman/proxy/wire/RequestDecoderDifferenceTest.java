package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.wire.DecodedRequest.End;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The request decoder compared with Netty's, on generated requests with and without errors, at
 * every split. It may refuse requests that Netty accepts. A request that it accepts must have
 * Netty's values.
 */
class RequestDecoderDifferenceTest {
  private static final int ROUNDS = Integer.getInteger("pointsman.fuzz.rounds", 2000);
  private static final long SEED = Long.getLong("pointsman.fuzz.seed", 20_261_121);

  @Test
  void wellFormedRequestsAreReadAsNettyReadsThem() {
    RequestTexts texts = new RequestTexts(SEED);
    for (int i = 0; i < ROUNDS / 4; i++) {
      byte[] bytes = texts.wellFormed();
      assertThat(Decoders.own(bytes)).as(text(bytes)).allMatch(r -> r.end == End.COMPLETE);
      assertThat(Decoders.own(bytes)).hasToString(Decoders.netty(bytes).toString());
    }
  }

  @Test
  void acceptedInvalidRequestsAreReadAsNettyReadsThem() {
    RequestTexts texts = new RequestTexts(SEED + 1);
    int taken = 0;
    int refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
      byte[] bytes = texts.mutated(texts.wellFormed());
      List<DecodedRequest> own = Decoders.own(bytes);
      assertNotDifferent(own, Decoders.netty(bytes), bytes);
      boolean someRefused = own.stream().anyMatch(r -> r.end == End.REFUSED);
      taken += someRefused ? 0 : 1;
      refused += someRefused ? 1 : 0;
    }
    assertThat(taken).isGreaterThan(ROUNDS / 20);
    assertThat(refused).isGreaterThan(ROUNDS / 20);
  }

  private static void assertNotDifferent(
      List<DecodedRequest> own, List<DecodedRequest> netty, byte[] bytes) {
    for (int i = 0; i < own.size(); i++) {
      DecodedRequest mine = own.get(i);
      if (mine.end == End.REFUSED) {
        return;
      }
      assertThat(netty.size()).as(text(bytes)).isGreaterThan(i);
      DecodedRequest theirs = netty.get(i);
      assertThat(mine.line).as(text(bytes)).isEqualTo(theirs.line);
      assertThat(mine.headers).as(text(bytes)).isEqualTo(theirs.headers);
      if (mine.end == End.COMPLETE) {
        assertThat(theirs).as(text(bytes)).hasToString(mine.toString());
      } else {
        assertThat(theirs.end).as(text(bytes)).isNotEqualTo(End.COMPLETE);
      }
    }
    boolean more = netty.size() > own.size() && netty.get(own.size()).end != End.REFUSED;
    assertThat(more).as("waits for more of " + text(bytes)).isFalse();
  }

  @Test
  void everyCutHasTheSameResult() {
    RequestTexts texts = new RequestTexts(SEED + 2);
    for (int i = 0; i < ROUNDS / 20; i++) {
      byte[] bytes = i % 2 == 0 ? texts.wellFormed() : texts.mutated(texts.wellFormed());
      String whole = Decoders.own(bytes).toString();
      assertThat(Decoders.own(bytes, RequestTexts.everyByte(bytes))).hasToString(whole);
      for (int cut = 1; cut < bytes.length; cut++) {
        assertThat(Decoders.own(bytes, cut)).as(text(bytes)).hasToString(whole);
      }
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, ISO_8859_1)
        .replace("\r", "\\r")
        .replace("\n", "\\n\n")
        .replace("\u0000", "\\0");
  }
}
