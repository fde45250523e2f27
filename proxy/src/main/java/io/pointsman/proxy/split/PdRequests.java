package io.pointsman.proxy.split;

import io.pointsman.engine.disagg.plan.PdEndpoint;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.SplitFacts;
import io.pointsman.engine.disagg.protocol.ForeignFields;
import io.pointsman.proxy.course.Served;

/** Makes what protocols are told of clients' requests. */
final class PdRequests {
  private static final int NONCE_DIGITS = 32;

  private PdRequests() {}

  /**
   * A request that two workers serve, with a new name for its hand-over.
   *
   * @throws IllegalStateException if two workers cannot serve it
   */
  static PdRequest of(Served served, SplitFacts facts, SplitPlane plane) {
    PdEndpoint endpoint = facts.endpoint();
    if (endpoint == null) {
      throw new IllegalStateException("split without an endpoint that can be");
    }
    return new PdRequest(
        endpoint,
        served.head().uri(),
        id(served, plane),
        nonce(plane),
        plane.conversation(served, facts),
        facts);
  }

  /** The client's request id; another one where that would tell engines where to look. */
  static String id(Served served, SplitPlane plane) {
    String id = served.requestId();
    return ForeignFields.names(id) ? nonce(plane) : id;
  }

  private static String nonce(SplitPlane plane) {
    StringBuilder hex = new StringBuilder(NONCE_DIGITS);
    while (hex.length() < NONCE_DIGITS) {
      hex.append("%04x".formatted(plane.dice().roll(1 << 16)));
    }
    return hex.toString();
  }
}
