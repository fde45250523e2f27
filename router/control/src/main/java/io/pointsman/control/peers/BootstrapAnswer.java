package io.pointsman.control.peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Parses the response of Mooncake's bootstrap server: an object with one member per data-parallel
 * rank, which contains the rank's {@code engine_id}.
 */
final class BootstrapAnswer {
  private static final JsonFactory JSON = new JsonFactory();
  private static final int LONGEST_ID = 256;

  private BootstrapAnswer() {}

  /**
   * The ids, rank 0 first.
   *
   * @throws IOException if a rank or an id is missing, or {@code body} is malformed
   */
  static List<String> engineIds(byte[] body) throws IOException {
    TreeMap<Integer, String> byRank = new TreeMap<>();
    try (JsonParser json = JSON.createParser(body)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new IOException("not an object");
      }
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        int rank = rank(json.currentName());
        json.nextToken();
        String id = engineId(json);
        if (rank >= 0) {
          if (id == null) {
            throw new IOException("rank " + rank + " without an engine_id");
          }
          byRank.put(rank, id);
        }
      }
    }
    if (byRank.isEmpty() || byRank.lastKey() != byRank.size() - 1) {
      throw new IOException("ranks " + byRank.keySet() + " (expected: 0 and those after it)");
    }
    return new ArrayList<>(byRank.values());
  }

  /** The rank; -1 for members that are not ranks. */
  private static int rank(String name) {
    return name.matches("[0-9]{1,4}") && Integer.parseInt(name) < Announcement.MOST_RANKS
        ? Integer.parseInt(name)
        : -1;
  }

  private static @Nullable String engineId(JsonParser json) throws IOException {
    String id = null;
    if (json.currentToken() == JsonToken.START_OBJECT) {
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        boolean wanted = json.currentName().equals("engine_id");
        if (json.nextToken() == JsonToken.VALUE_STRING && wanted) {
          String text = json.getText();
          id = text.isEmpty() || text.length() > LONGEST_ID ? null : text;
        }
        json.skipChildren();
      }
    } else {
      json.skipChildren();
    }
    return id;
  }
}
