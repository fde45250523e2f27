package io.pointsman.pd.body;

import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import io.pointsman.request.splice.RawJson;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the values in an engine's answer that the other worker needs. Each value keeps its
 * bytes. Keeps scratch memory; use one reader per thread.
 */
public final class ReplyReader {
  /** Name of the member with the parameters of the KV transfer. */
  public static final String KV_TRANSFER_PARAMS = "kv_transfer_params";

  /**
   * Maximum number of the parameters that are read. They are addresses, ports and flags, not block
   * lists.
   */
  private static final int MAX_PARAMS = 64;

  private static final int MAX_PARAM_BYTES = 1024;
  private static final int MAX_REASON = 64;

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final int maxParams;

  /**
   * @param maxParams maximum size of {@code kv_transfer_params} in bytes; an answer with larger
   *     ones is unreadable. A block id takes about 6 bytes, for 16 tokens or more
   */
  public ReplyReader(int maxParams) {
    this.maxParams = maxParams;
  }

  /** Result of reading an answer. */
  public sealed interface Result {
    record Read(PrefillReply reply) implements Result {}

    /**
     * @param reason short reason
     */
    record Unreadable(String reason) implements Result {}
  }

  /**
   * Reads a complete answer.
   *
   * @param bytes array that contains the answer; neither changed nor kept
   */
  public Result read(byte[] bytes, int offset, int length) {
    JsonMembers members = JsonMembers.read(json, bytes, offset, offset + length);
    if (members == null) {
      return new Result.Unreadable("the answer is not a JSON object");
    }
    RawJson params = value(bytes, members, KV_TRANSFER_PARAMS);
    if (params != null && params.length() > maxParams) {
      return new Result.Unreadable(
          KV_TRANSFER_PARAMS + ": " + params.length() + " bytes (expected: <= " + maxParams + ")");
    }
    JsonMembers choice = firstChoice(json, bytes, members);
    return new Result.Read(
        new PrefillReply(
            RawJson.copyOf(bytes, offset, offset + length),
            params,
            params == null ? Map.of() : small(params.bytes()),
            choice == null ? null : text(bytes, choice),
            choice == null ? null : string(bytes, choice, "finish_reason"),
            CachedTokens.read(json, bytes, members)));
  }

  /** The value of the last member with this name; null if it is absent or null. */
  private static @Nullable RawJson value(byte[] bytes, JsonMembers members, String name) {
    int i = members.last(name);
    boolean absent = i < 0 || bytes[members.valueFrom(i)] == 'n';
    return absent ? null : RawJson.copyOf(bytes, members.valueFrom(i), members.valueTo(i));
  }

  private Map<String, RawJson> small(byte[] params) {
    JsonMembers members = JsonMembers.read(json, params, 0, params.length);
    Map<String, RawJson> found = new HashMap<>();
    for (int i = 0; members != null && i < members.count() && i < MAX_PARAMS; i++) {
      if (members.valueTo(i) - members.valueFrom(i) <= MAX_PARAM_BYTES) {
        found.put(
            members.name(i), RawJson.copyOf(params, members.valueFrom(i), members.valueTo(i)));
      }
    }
    return found;
  }

  /** The members of the first choice; null if there is none. */
  static @Nullable JsonMembers firstChoice(JsonCursor json, byte[] bytes, JsonMembers members) {
    int i = members.last("choices");
    if (i < 0 || bytes[members.valueFrom(i)] != '[') {
      return null;
    }
    int from = members.valueFrom(i);
    json.reset(bytes, from, members.valueTo(i));
    if (!json.firstElement()) {
      return null;
    }
    json.peek();
    int start = from + json.position();
    json.value();
    return JsonMembers.read(json, bytes, start, from + json.position());
  }

  private static @Nullable RawJson text(byte[] bytes, JsonMembers choice) {
    RawJson text = value(bytes, choice, "text");
    return text != null && text.bytes()[0] == '"' ? text : null;
  }

  private static @Nullable String string(byte[] bytes, JsonMembers members, String name) {
    RawJson value = value(bytes, members, name);
    if (value == null || value.bytes()[0] != '"' || value.length() > MAX_REASON) {
      return null;
    }
    return JsonText.decode(value.bytes(), 1, value.length() - 1);
  }
}
