package io.pointsman.engine;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;

/** Requests of each kind that policies distinguish, all for {@link TestFleet#MODEL}. */
public final class Requests {
  private Requests() {}

  private static RoutingRequest.Builder builder() {
    return RoutingRequest.builder().model(TestFleet.MODEL);
  }

  /** A request without affinity and prompt. */
  public static RoutingRequest bare() {
    return builder().build();
  }

  public static RoutingRequest session(String id) {
    return session(id, "header:x-session-id", TestFleet.MODEL);
  }

  public static RoutingRequest session(String id, String source, String model) {
    return RoutingRequest.builder()
        .model(model)
        .affinity(new AffinityKey(AffinityKey.Kind.SESSION, source, id))
        .build();
  }

  /** A request with only its own id. */
  public static RoutingRequest id(String id) {
    return builder()
        .affinity(new AffinityKey(AffinityKey.Kind.REQUEST, "header:x-request-id", id))
        .build();
  }

  /** A different prompt for each {@code n}. */
  public static RoutingRequest prompt(long n) {
    return builder().prefix(blocks(n)).build();
  }

  /** A prompt of four blocks of 16 tokens. */
  public static PrefixBlocks blocks(long n) {
    long[] pieces = {n, n + 1, n + 2, n + 3};
    return PrefixBlocks.chain(1, pieces, 4, 64, 16, 64);
  }

  public static RoutingRequest pinned(String worker) {
    return builder().pinnedWorker(worker).build();
  }

  /** A request of the given kind; requests with equal {@code n} have equal keys. */
  public static RoutingRequest ofKind(int kind, long n) {
    return switch (kind) {
      case 0 -> bare();
      case 1 -> session("s" + n);
      case 2 -> id("r" + n);
      default -> prompt(n);
    };
  }

  public static final int KINDS = 4;
}
