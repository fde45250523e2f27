package io.pointsman.request;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixMark;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the prefix of a chat's next turn. The next prompt starts with the last prompt and the
 * answer as a message of the assistant. Keeps scratch memory; use one reader per thread.
 */
public final class TurnReader {
  private static final byte[] OPEN =
      "{\"messages\":[{\"role\":\"assistant\",\"content\":\"".getBytes(US_ASCII);
  private static final byte[] CLOSE = "\"}]}".getBytes(US_ASCII);

  private final BodyReader json = new BodyReader("");

  /**
   * The position in the next prompt directly after the answer.
   *
   * @param prompt routing key of the chat
   * @param reply text of the answer, escaped as in a JSON string
   * @return null if {@code prompt} is empty, or {@code reply} is empty or not a valid JSON string
   */
  public @Nullable PrefixMark behind(PrefixBlocks prompt, byte[] reply) {
    if (prompt.count() == 0) {
      return null;
    }
    byte[] body = Arrays.copyOf(OPEN, OPEN.length + reply.length + CLOSE.length);
    System.arraycopy(reply, 0, body, OPEN.length, reply.length);
    System.arraycopy(CLOSE, 0, body, OPEN.length + reply.length, CLOSE.length);
    BodyVerdict verdict = json.read(KeyFields.CHAT, body, 0, body.length, false);
    PrefixBlocks answer = json.prefix(prompt.saltBehind());
    json.release();
    return verdict.kind() == BodyVerdict.Kind.OBJECT && answer.count() > 0
        ? new PrefixMark(answer.whole(), prompt.count() + answer.count())
        : null;
  }
}
