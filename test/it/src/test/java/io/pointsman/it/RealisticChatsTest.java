package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import java.io.IOException;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code cost} with realistic chats: each turn continues the previous one. */
@Tag("full")
final class RealisticChatsTest {
  private static final Pattern CACHED = Pattern.compile("\"cached_tokens\":\\s*(\\d+)");
  private static final int CONVERSATIONS = 12;
  private static final int TURNS = 5;

  private final Random random = new Random(5);

  @Test
  void eachTurnFindsThePreviousOneAtAnyLength() throws Exception {
    try (Cluster cluster =
        Cluster.of(8).policy("cost").engines(engine -> engine.withKvMemory(8192, 16)).start()) {
      for (int c = 0; c < CONVERSATIONS; c++) {
        StringBuilder messages = new StringBuilder(message("user", 600 + random.nextInt(1_500)));
        String engine = ask(cluster, messages).header("x-engine-id");
        for (int turn = 1; turn < TURNS; turn++) {
          messages.append(',').append(message("assistant", 30 + random.nextInt(900)));
          messages.append(',').append(message("user", 10 + random.nextInt(400)));
          HttpAnswer answer = ask(cluster, messages);
          assertThat(answer.header("x-engine-id")).as("turn %s of %s", turn, c).isEqualTo(engine);
          assertThat(cached(answer)).as("turn %s of %s", turn, c).isPositive();
        }
      }
    }
  }

  private String message(String role, int length) {
    String words =
        random
            .ints(length, 'a', 'z' + 1)
            .mapToObj(c -> Character.toString(c))
            .collect(Collectors.joining());
    return "{\"role\":\"%s\",\"content\":\"%s\"}".formatted(role, words);
  }

  private static HttpAnswer ask(Cluster cluster, CharSequence messages) throws IOException {
    String body =
        "{\"model\":\"%s\",\"max_tokens\":1,\"messages\":[%s]}".formatted(Cluster.MODEL, messages);
    HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/v1/chat/completions", body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return answer;
  }

  private static int cached(HttpAnswer answer) {
    Matcher found = CACHED.matcher(answer.text());
    return found.find() ? Integer.parseInt(found.group(1)) : 0;
  }
}
