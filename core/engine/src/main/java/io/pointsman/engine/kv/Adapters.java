package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Start values of block hash chains: one constant for the base model, one number for each LoRA
 * adapter named in KV events. A request names the adapter in place of the model.
 */
final class Adapters {
  private static final int MOST = 4096;
  private static final int LONGEST = 256;
  private static final long BASE = PrefixBlocks.mix(0);

  private final ConcurrentHashMap<String, Long> starts = new ConcurrentHashMap<>();

  /**
   * Returns the start value of chains computed with {@code adapter}.
   *
   * @param adapter null for the base model
   * @return 0 if the maximum number of adapters is known, or the name is too long
   */
  long start(@Nullable String adapter) {
    if (adapter == null) {
      return BASE;
    }
    Long known = starts.get(adapter);
    if (known != null) {
      return known;
    }
    if (starts.size() >= MOST || adapter.length() > LONGEST) {
      return 0;
    }
    long start = hash(adapter);
    starts.put(adapter, start);
    return start;
  }

  /**
   * Returns true if KV events distinguish blocks of {@code model} from others. If no event ever
   * named an adapter, engines may not name them. All blocks then count as the base model's.
   */
  boolean distinguishes(String model) {
    return starts.isEmpty() || starts.containsKey(model);
  }

  /** Returns the start value of the chains that a request for {@code model} can match. */
  long asked(@Nullable String model) {
    Long adapter = model == null ? null : starts.get(model);
    return adapter == null ? BASE : adapter;
  }

  private static long hash(String name) {
    long hash = name.length();
    for (int i = 0; i < name.length(); i++) {
      hash = PrefixBlocks.mix(hash ^ name.charAt(i));
    }
    return hash == 0 || hash == BASE ? 1 : hash;
  }
}
