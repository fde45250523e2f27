package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import java.util.LinkedHashMap;
import java.util.Map;

/** Blocks for several engines, by hash; the least recently added are dropped first. Bounded. */
final class BlockStore {
  private static final int CAPACITY = 1_000_000;

  private final LinkedHashMap<Long, Boolean> blocks =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
          return size() > CAPACITY;
        }
      };

  void add(JsonNode hashes) {
    hashes.forEach(hash -> blocks.put(hash.longValue(), true));
  }

  /** Length of the longest known prefix in blocks. */
  int known(JsonNode hashes) {
    int known = 0;
    while (known < hashes.size() && blocks.containsKey(hashes.get(known).longValue())) {
      known++;
    }
    return known;
  }

  void clear() {
    blocks.clear();
  }

  static ObjectNode document(long[] hashes) {
    ObjectNode root = SimJson.object();
    ArrayNode list = root.putArray("hashes");
    for (long hash : hashes) {
      list.add(hash);
    }
    return root;
  }
}
