package io.pointsman.control.kvtokens;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Parses token ids in the responses of engines. */
final class TokenAnswer {
  private static final JsonMapper JSON = new JsonMapper();

  private TokenAnswer() {}

  /**
   * The ids of {@code .../render}: {@code token_ids} of an object, or of the only item of a list.
   * Null if there are none, or if there is content besides text ({@code features}).
   */
  static int @Nullable [] rendered(byte[] answer) {
    JsonNode root = tree(answer);
    JsonNode one = root.isArray() && root.size() == 1 ? root.get(0) : root;
    return one.hasNonNull("features") ? null : ids(one.path("token_ids"));
  }

  /** The ids of {@code /tokenize}: {@code tokens}, as many as {@code count}; null otherwise. */
  static int @Nullable [] tokenized(byte[] answer) {
    JsonNode root = tree(answer);
    int[] ids = ids(root.path("tokens"));
    return ids != null && root.path("count").asInt(ids.length) == ids.length ? ids : null;
  }

  private static JsonNode tree(byte[] answer) {
    try {
      return JSON.readTree(answer);
    } catch (IOException e) {
      return JSON.missingNode();
    }
  }

  private static int @Nullable [] ids(JsonNode list) {
    if (!list.isArray() || list.isEmpty()) {
      return null;
    }
    int[] ids = new int[list.size()];
    for (int i = 0; i < ids.length; i++) {
      JsonNode id = list.get(i);
      if (!id.canConvertToInt() || id.asInt() < 0) {
        return null;
      }
      ids[i] = id.asInt();
    }
    return ids;
  }
}
