package io.pointsman.proxy.split.answer;

import io.pointsman.engine.disagg.plan.FirstToken;
import io.pointsman.engine.disagg.plan.PdEndpoint;
import io.pointsman.request.splice.Splice;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What is changed in a decode worker's answer: the first token put before its text, the usage as it
 * was in truth. Applied to an answer in one piece, or to the data of each event of a stream; keeps
 * the last of these that hands something back, and what a chat's answer says. Belongs to the event
 * loop.
 */
public final class AnswerEdits {
  private static final byte[] USAGE = ascii("\"usage\"");
  private static final byte[] META = ascii("\"meta_info\"");
  private static final byte[] HANDED_BACK = ascii("\"kv_transfer_params\"");

  /** Bytes of an answer's text; the next turn of a longer one builds on nothing. */
  private static final int MOST_SAID = 1 << 18;

  private final SplitTools tools;
  private final PdEndpoint endpoint;
  private final LongSupplier cached;
  private final boolean learns;
  private @Nullable FirstToken first;
  private final @Nullable FirstToken given;
  private byte @Nullable [] handedBack;

  /** What a chat's answer says; null if that does not matter, or cannot be told. */
  private @Nullable ByteArrayOutputStream said;

  /**
   * @param endpoint what the answer is to
   * @param cached prompt tokens that the prefill worker found in its cache; negative while not
   *     known
   * @param first the first token; null if it comes from decode
   * @param learns whether what the answer hands back matters
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
   * One JSON object, changed.
   *
   * @return null if nothing is to be changed
   */
  byte @Nullable [] apply(byte[] json) {
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
    Splice told = tokens < 0 ? null : tools.cached().put(endpoint, now, 0, now.length, tokens);
    return told == null ? now : told.toBytes(now, 0);
  }

  private void learn(byte[] json) {
    if (contains(json, HANDED_BACK)) {
      handedBack = json;
    }
    ByteArrayOutputStream text = said;
    if (text != null) {
      boolean known = tools.chatText().append(json, 0, json.length, text);
      said = known && text.size() <= MOST_SAID ? text : null;
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

  /** The last object that hands something back; null if there was none. */
  public byte @Nullable [] handedBack() {
    return handedBack;
  }

  /**
   * The text of a chat's answer, escaped as it came; null if it is not known, or not all that was
   * generated.
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
