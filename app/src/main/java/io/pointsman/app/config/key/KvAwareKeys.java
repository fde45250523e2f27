package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.decimal;

import io.pointsman.engine.policy.kv.KvAwareSettings;
import java.util.List;

/** Keys of the policy kv_aware and of its KV index. */
public final class KvAwareKeys {
  private static final KvAwareSettings KV = KvAwareSettings.DEFAULTS;

  public static final Key<Double> TEMPERATURE =
      Key.of(
          "kv-aware.temperature",
          decimal(0, Double.MAX_VALUE),
          KV.temperature(),
          "kv_aware: chance in the choice. A worker's falls by e for each so many units of cost"
              + " above the least; a unit is one token times one request.",
          "0 takes the least cost; large is as good as random.");

  public static final Key<Double> HOST_CREDIT =
      Key.of(
          "kv-aware.host-credit",
          decimal(0, 1),
          KV.credits().host(),
          "kv_aware and cost: what a block in the host's memory is worth, as a share of one on the"
              + " device.",
          "1 takes bringing it in for free; 0 leaves such blocks out.");

  public static final Key<Double> EXTERNAL_CREDIT =
      Key.of(
          "kv-aware.external-credit",
          decimal(0, 1),
          KV.credits().external(),
          "kv_aware and cost: the same for a block in a pool that engines share; it counts for the"
              + " worker that announced it.",
          "1 takes bringing it in for free; 0 leaves such blocks out.");

  public static final Key<Double> DISK_CREDIT =
      Key.of(
          "kv-aware.disk-credit",
          decimal(0, 1),
          KV.credits().disk(),
          "kv_aware and cost: the same for a block on local storage.",
          "1 takes bringing it in for free; 0 leaves such blocks out.");

  public static final Key<Long> INDEX_MAX_BYTES =
      Key.of(
          "kv-aware.index-max-bytes",
          bytes(1L << 20, 1L << 36),
          KV.maxIndexBytes(),
          "kv_aware and cost: memory of what engines announced, for all of them together; taken as"
              + " needed. A block takes about 80 bytes, on each worker that holds it.",
          "Blocks that find no room are not known: their prompts count as uncached.");

  private KvAwareKeys() {}

  static List<Key<?>> all() {
    return List.of(TEMPERATURE, HOST_CREDIT, EXTERNAL_CREDIT, DISK_CREDIT, INDEX_MAX_BYTES);
  }
}
