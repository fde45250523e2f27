package io.pointsman.pd.execution.answer;

import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.request.splice.Splice;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Edits of a decode worker's answer: the first token before its text, and the correct usage. They
 * apply to an answer in one piece, or to the data of each event of a stream. They also keep the
 * last returned transfer parameters and the text of a chat. Belongs to the event loop.
 */
public final class AnswerEdits {
  private static final byte[] USAGE = ascii("\"usage\"");
  private static final byte[] META = ascii("\"meta_info\"");
  private static final byte[] HANDED_BACK = ascii("\"kv_transfer_params\"");

  /** Maximum size of the text in bytes. After a longer answer the next turn reuses nothing. */
  private static final int MOST_TEXT = 1 << 18;

  private final SplitTools tools;
  private final PdEndpoint endpoint;
  private final LongSupplier cached;
  private final boolean learns;
  private @Nullable FirstToken first;
  private final @Nullable FirstToken given;
  private byte @Nullable [] handedBack;

  /** Text of a chat's answer; null if it is unused or unknown. */
  private @Nullable ByteArrayOutputStream said;

  /**
   * @param endpoint endpoint of the request
   * @param cached prompt tokens that the prefill worker found in its cache; negative while unknown
   * @param first the first token; null if decode sends it
   * @param learns true to keep transfer parameters and text for the next turn
   */
  public AnswerEdits(
      SplitTools tools,
      PdEndpoint endpoint,
      LongSupplier cached,
      @Nullable FirstToken first,
      boolean learns) {
    this.tools = tools;
    this.endpoint = endpoint;
    this.cached = cached;
    this.first = first;
    given = first;
    this.learns = learns;
    said = learns ? new ByteArrayOutputStream() : null;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * Edits one JSON object.
   *
   * @return null if it remains unchanged
   */
  public byte @Nullable [] apply(byte[] json) {
    if (learns) {
      learn(json);
    }
    byte[] changed = withFirst(json);
    byte[] now = changed == null ? json : changed;
    if (!contains(now, USAGE) && !contains(now, META)) {
      return changed;
    }
    if (given != null) {
      Splice counted = tools.editor().edit(now, 0, now.length, given.usage());
      now = counted == null ? now : counted.toBytes(now, 0);
    }
    long tokens = cached.getAsLong();
    Splice counted = tokens < 0 ? null : tools.cached().put(endpoint, now, 0, now.length, tokens);
    return counted == null ? now : counted.toBytes(now, 0);
  }

  private void learn(byte[] json) {
    if (contains(json, HANDED_BACK)) {
      handedBack = json;
    }
    ByteArrayOutputStream text = said;
    if (text != null) {
      boolean known = tools.chatText().append(json, 0, json.length, text);
      said = known && text.size() <= MOST_TEXT ? text : null;
    }
  }

  private byte @Nullable [] withFirst(byte[] json) {
    FirstToken token = first;
    Splice placed =
        token == null ? null : tools.firstText().putBefore(json, 0, json.length, token.text());
    if (placed == null) {
      return null;
    }
    first = null;
    return placed.toBytes(json, 0);
  }

  /** The last object with transfer parameters; null if there was none. */
  public byte @Nullable [] handedBack() {
    return handedBack;
  }

  /**
   * The text of a chat's answer, with its escapes unresolved; null if it is unknown or not all
   * generated output.
   */
  public byte @Nullable [] said() {
    return said == null || said.size() == 0 ? null : said.toByteArray();
  }

  private static boolean contains(byte[] in, byte[] what) {
    int last = in.length - what.length;
    for (int i = 0; i <= last; i++) {
      if (in[i] == '"' && matches(in, i, what)) {
        return true;
      }
    }
    return false;
  }

  private static boolean matches(byte[] in, int at, byte[] what) {
    for (int i = 1; i < what.length; i++) {
      if (in[at + i] != what[i]) {
        return false;
      }
    }
    return true;
  }
}
