package io.pointsman.request.reader;

import io.pointsman.engine.policy.WantedFields;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * A pool of request readers for short-lived threads. Each reader has scratch memory, so the pool
 * keeps up to 16 for reuse. When the pool is empty, a temporary reader is created.
 */
public final class Readers {
  private static final int KEPT = 16;

  private final AffinitySettings affinity;
  private final WantedFields wanted;
  private final ArrayBlockingQueue<RequestReader> idle = new ArrayBlockingQueue<>(KEPT);

  /** Readers without fields for policies. */
  public Readers(AffinitySettings affinity) {
    this(affinity, WantedFields.NONE);
  }

  /**
   * @param wanted fields that policies read
   */
  public Readers(AffinitySettings affinity, WantedFields wanted) {
    this.affinity = affinity;
    this.wanted = wanted;
  }

  /** Reads one request; see {@link RequestReader#read}. */
  public RequestFacts read(
      Endpoint endpoint,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    RequestReader lent = idle.poll();
    RequestReader reader = lent == null ? new RequestReader(affinity, wanted) : lent;
    RequestFacts facts = reader.read(endpoint, headers, body, offset, length, truncated);
    idle.offer(reader);
    return facts;
  }
}
