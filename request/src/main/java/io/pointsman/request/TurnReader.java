package io.pointsman.request;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixMark;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Tells where the prompt of a chat's next turn passes: the last prompt, then the answer as a
 * message of the assistant. Keeps scratch memory: one reader per thread.
 */
public final class TurnReader {
  private static final byte[] OPEN =
      "{\"messages\":[{\"role\":\"assistant\",\"content\":\"".getBytes(US_ASCII);
  private static final byte[] CLOSE = "\"}]}".getBytes(US_ASCII);

  private final BodyReader json = new BodyReader("");

  /**
   * The place behind the answer.
   *
   * @param prompt the routing key of a chat
   * @param said the answer's text, escaped as inside of a JSON string
   * @return null if the prompt has no key, or the answer is no such text
   */
  public @Nullable PrefixMark behind(PrefixBlocks prompt, byte[] said) {
    if (prompt.count() == 0) {
      return null;
    }
    byte[] body = Arrays.copyOf(OPEN, OPEN.length + said.length + CLOSE.length);
    System.arraycopy(said, 0, body, OPEN.length, said.length);
    System.arraycopy(CLOSE, 0, body, OPEN.length + said.length, CLOSE.length);
    BodyVerdict verdict = json.read(KeyFields.CHAT, body, 0, body.length, false);
    PrefixBlocks answer = json.prefix(prompt.saltBehind());
    json.release();
    return verdict.kind() == BodyVerdict.Kind.OBJECT && answer.count() > 0
        ? new PrefixMark(answer.whole(), prompt.count() + answer.count())
        : null;
  }
}
