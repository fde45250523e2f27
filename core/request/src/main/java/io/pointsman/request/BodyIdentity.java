package io.pointsman.request;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import io.pointsman.request.json.StringScanner;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Identity of a request from its JSON body. The pass over the body records only positions; {@link
 * #first} decodes the value.
 */
final class BodyIdentity {
  /** A field, or a member of a field, that can name a session. */
  private record Place(Field field, @Nullable String member, long memberHash, String source) {
    Place(Field field, @Nullable String member) {
      String name = field.key();
      String source = "body:" + (member == null ? name : name + "." + member);
      this(field, member, member == null ? 0 : JsonText.hash(member), source);
    }
  }

  private static final List<Place> PLACES =
      List.of(
          new Place(Field.VLLM_XARGS, "agentic_context"),
          new Place(Field.AGENT_HINT, "session_id"),
          new Place(Field.SESSION_PARAMS, "session_id"),
          new Place(Field.CONVERSATION, "id"),
          new Place(Field.CONVERSATION, null),
          new Place(Field.PROMPT_CACHE_KEY, null),
          new Place(Field.USER, null),
          new Place(Field.SESSION_ID, null),
          new Place(Field.USER_ID, null),
          new Place(Field.METADATA, "user_id"),
          new Place(Field.SESSION_PARAMS, "user_id"),
          new Place(Field.SAFETY_IDENTIFIER, null));

  private static final int AGENTIC = 0;
  private static final int MAX_CONTEXT = 16 * 1024;
  private static final int MAX_DECODED = 4096;
  private static final long[] CONTEXT_KEYS = {
    JsonText.hash("program_id"),
    JsonText.hash("task_id"),
    JsonText.hash("session_id"),
    JsonText.hash("agent_id")
  };

  private final JsonCursor json;

  /** Name of the only field that counts; empty if all known places count. */
  private final String only;

  private final long onlyHash;
  private final String onlySource;
  private int onlyFrom;
  private int onlyTo;
  private final JsonCursor inner = new JsonCursor(StringScanner.best());
  private final int[] from = new int[PLACES.size()];
  private final int[] to = new int[PLACES.size()];

  /**
   * @param only name of the only field that counts; empty if all known fields count
   */
  BodyIdentity(JsonCursor json, String only) {
    this.json = json;
    this.only = only;
    onlyHash = JsonText.hash(only);
    onlySource = "body:" + only;
  }

  void reset() {
    Arrays.fill(to, 0);
    Arrays.fill(from, 0);
    onlyFrom = 0;
    onlyTo = 0;
  }

  /** Reads the value of a field outside {@link Field}. */
  void readUnknown() {
    if (!only.isEmpty() && json.keyHash() == onlyHash && json.keyIs(only)) {
      readOnly();
    } else {
      json.value();
    }
  }

  private void readOnly() {
    json.peek();
    int start = json.position();
    json.value();
    boolean whole = json.problem() == null;
    onlyFrom = whole ? start : 0;
    onlyTo = whole ? json.position() : 0;
  }

  /**
   * Reads the value of an identity field. A later occurrence of the field replaces an earlier one.
   */
  void read(Field field) {
    if (!only.isEmpty()) {
      readUnknown();
      return;
    }
    int whole = -1;
    for (int i = 0; i < PLACES.size(); i++) {
      if (PLACES.get(i).field == field) {
        from[i] = 0;
        to[i] = 0;
        whole = PLACES.get(i).member == null ? i : whole;
      }
    }
    boolean object = json.peek() == '{';
    if (object && hasMembers(field)) {
      readMembers(field);
    } else if (whole >= 0) {
      note(whole);
    } else {
      json.value();
    }
  }

  private static boolean hasMembers(Field field) {
    for (int i = 0; i < PLACES.size(); i++) {
      if (PLACES.get(i).field == field && PLACES.get(i).member != null) {
        return true;
      }
    }
    return false;
  }

  private void readMembers(Field field) {
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      int index = memberIndex(field);
      if (index >= 0) {
        note(index);
      } else {
        json.value();
      }
    }
  }

  /** Place of the member at the cursor; -1 if it names no session. */
  private int memberIndex(Field field) {
    for (int i = 0; i < PLACES.size(); i++) {
      Place place = PLACES.get(i);
      if (place.field == field && place.member != null && json.keyHash() == place.memberHash) {
        return i;
      }
    }
    return -1;
  }

  /** The identity with the highest precedence; null if the body has none. */
  @Nullable AffinityKey first(byte[] body, int offset) {
    if (!only.isEmpty()) {
      String value = onlyTo > onlyFrom ? scalar(body, offset + onlyFrom, offset + onlyTo) : "";
      return value.isBlank() ? null : Identities.key(AffinityKey.Kind.SESSION, onlySource, value);
    }
    for (int i = 0; i < from.length; i++) {
      if (to[i] > from[i]) {
        int start = offset + from[i];
        int end = offset + to[i];
        String value = i == AGENTIC ? context(body, start, end) : scalar(body, start, end);
        if (!value.isBlank()) {
          return Identities.key(AffinityKey.Kind.SESSION, PLACES.get(i).source, value);
        }
      }
    }
    return null;
  }

  private void note(int index) {
    json.peek();
    int start = json.position();
    json.value();
    boolean whole = json.problem() == null;
    from[index] = whole ? start : 0;
    to[index] = whole ? json.position() : 0;
  }

  /**
   * The content of a string or number; empty for any other value. A value above 4 KiB becomes its
   * fingerprint.
   */
  private static String scalar(byte[] bytes, int from, int to) {
    byte first = bytes[from];
    boolean number = first == '-' || (first >= '0' && first <= '9');
    if (!number && first != '"') {
      return "";
    }
    if (to - from > MAX_DECODED) {
      return JsonText.fingerprint(bytes, from, to);
    }
    return number
        ? new String(bytes, from, to - from, UTF_8)
        : JsonText.decode(bytes, from + 1, to - 1);
  }

  /**
   * The identity in an agentic context: an object, or a string that contains one. It is {@code
   * program_id}; else {@code task_id} or {@code session_id}, followed by {@code agent_id}. Empty if
   * the context has none of these or is larger than 16 KiB.
   */
  private String context(byte[] bytes, int from, int to) {
    if (to - from > MAX_CONTEXT) {
      return "";
    }
    if (bytes[from] != '"') {
      return contextObject(bytes, from, to);
    }
    byte[] content = JsonText.decode(bytes, from + 1, to - 1).getBytes(UTF_8);
    return contextObject(content, 0, content.length);
  }

  private String contextObject(byte[] bytes, int from, int to) {
    inner.reset(bytes, from, to);
    if (inner.peek() != '{') {
      return "";
    }
    String[] found = {"", "", "", ""};
    for (boolean more = inner.firstMember(); more; more = inner.nextMember()) {
      int index = contextKey(inner.keyHash());
      inner.peek();
      int start = from + inner.position();
      inner.value();
      if (index >= 0 && inner.problem() == null) {
        found[index] = scalar(bytes, start, from + inner.position());
      }
    }
    inner.release();
    if (!found[0].isBlank()) {
      return found[0];
    }
    String run = found[1].isBlank() ? found[2] : found[1];
    return run.isBlank() || found[3].isBlank() ? run : run + "/" + found[3];
  }

  private static int contextKey(long hash) {
    for (int i = 0; i < CONTEXT_KEYS.length; i++) {
      if (CONTEXT_KEYS[i] == hash) {
        return i;
      }
    }
    return -1;
  }
}
