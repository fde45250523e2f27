package io.pointsman.config.key;

import java.util.List;
import java.util.Optional;

/** Keys and flags of earlier versions. They are refused, and the error names the present key. */
public final class FormerKeys {
  /**
   * A former name.
   *
   * @param path former path in the file
   * @param flag former flag
   * @param key the same key under its present name
   */
  public record Former(String path, String flag, Key<?> key) {}

  private static final List<Former> ALL =
      List.of(
          of("limits.hold-beyond", "--hold-beyond", QueueKeys.DEFER_BEYOND),
          of("limits.hold-longest", "--hold-longest", QueueKeys.DEFER_AT_MOST),
          of("limits.hold-without-worker", "--hold-without-worker", QueueKeys.DEFER_WITHOUT_WORKER),
          of("disaggregation.held-share", DisaggKeys.CACHED_SHARE),
          of("disaggregation.decode-serves-whole", DisaggKeys.DECODE_CAN_PREFILL),
          of("disaggregation.prefill-serves-whole", DisaggKeys.PREFILL_CAN_DECODE),
          of("disaggregation.whole-when-prefill-busy", DisaggKeys.SKIP_WHEN_PREFILL_BUSY),
          of("kv-events.replay-patience", KvEventKeys.REPLAY_TIMEOUT),
          of("kv-tokens.at-once", KvTokenKeys.PARALLELISM),
          of("admin.health-of-workers", FleetKeys.HEALTH_ANSWER),
          of("health.also-good", FleetKeys.HEALTH_ACCEPTED_STATUSES),
          of("stall.most", FleetKeys.STALL_MAX_PATIENCE));

  private FormerKeys() {}

  private static Former of(String path, Key<?> key) {
    return of(path, "--" + path.replace('.', '-'), key);
  }

  private static Former of(String path, String flag, Key<?> key) {
    return new Former(path, flag, key);
  }

  public static List<Former> all() {
    return ALL;
  }

  /** The problem with a former path, without its place; empty if {@code path} is none. */
  public static Optional<String> problemOfPath(String path) {
    return ALL.stream()
        .filter(former -> former.path().equals(path))
        .findFirst()
        .map(former -> path + ": former name (expected: " + former.key().path() + ")");
  }

  /** The problem with a former flag; empty if {@code flag} is none. */
  public static Optional<String> problemOfFlag(String flag) {
    return ALL.stream()
        .filter(former -> former.flag().equals(flag))
        .findFirst()
        .map(former -> flag + ": former name (expected: " + former.key().flag() + ")");
  }
}
