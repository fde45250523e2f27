package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What the chains of blocks begin with: one constant for the base model, one number for each LoRA
 * adapter that was ever announced. Requests name an adapter where others name the model.
 */
final class Adapters {
  private static final int MOST = 4096;
  private static final int LONGEST = 256;
  private static final long BASE = PrefixBlocks.mix(0);

  private final ConcurrentHashMap<String, Long> starts = new ConcurrentHashMap<>();

  /**
   * What chains computed with {@code adapter} begin with.
   *
   * @param adapter null for the base model
   * @return 0 if there are too many adapters to tell this one
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
   * Whether announcements tell blocks of {@code model} from others'. Where no adapter was ever
   * named, engines may not name them, and all their blocks pass for the base model's.
   */
  boolean tells(String model) {
    return starts.isEmpty() || starts.containsKey(model);
  }

  /** What the chains begin with that a request for {@code model} can match. */
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
