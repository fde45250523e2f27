package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.decimal;

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
          "kv_aware: randomness of the choice. The probability of a worker falls by the factor e"
              + " each time its cost exceeds the lowest by this value. The unit of cost is tokens x"
              + " requests.",
          "`0`: the lowest cost wins. A high value is almost the same as `random`.");

  public static final Key<Double> HOST_CREDIT =
      Key.of(
          "kv-aware.host-credit",
          decimal(0, 1),
          KV.credits().host(),
          "kv_aware and cost: value of a cached block in host memory, as a share of a block on the"
              + " device.",
          "`1`: loading such a block is free. `0`: such blocks do not count.");

  public static final Key<Double> EXTERNAL_CREDIT =
      Key.of(
          "kv-aware.external-credit",
          decimal(0, 1),
          KV.credits().external(),
          "kv_aware and cost: value of a cached block in a pool that engines share, as a share of a"
              + " block on the device. It counts for the worker that reported it.",
          "`1`: loading such a block is free. `0`: such blocks do not count.");

  public static final Key<Double> DISK_CREDIT =
      Key.of(
          "kv-aware.disk-credit",
          decimal(0, 1),
          KV.credits().disk(),
          "kv_aware and cost: value of a cached block on local storage, as a share of a block on"
              + " the device.",
          "`1`: loading such a block is free. `0`: such blocks do not count.");

  public static final Key<Double> LOAD_WEIGHT =
      Key.of(
          "load-aware.weight",
          decimal(0, Double.MAX_VALUE),
          KV.loadWeight(),
          "load_aware: weight of load. It is subtracted from the cached share of the prompt for a"
              + " worker with twice the mean number of requests in flight.",
          "`0`: only the cached share counts. With a high value, only load counts.");

  public static final Key<Long> INDEX_MAX_BYTES =
      Key.of(
          "kv-aware.index-max-bytes",
          bytes(1L << 20, 1L << 36),
          KV.maxIndexBytes(),
          "kv_aware and cost: memory for the blocks that all engines together report, used as"
              + " needed.",
          "A block takes about 80 bytes for each worker that has it. Blocks beyond this memory are"
              + " unknown; their prompts count as uncached.");

  private KvAwareKeys() {}

  static List<Key<?>> all() {
    return List.of(
        TEMPERATURE, HOST_CREDIT, EXTERNAL_CREDIT, DISK_CREDIT, INDEX_MAX_BYTES, LOAD_WEIGHT);
  }
}
