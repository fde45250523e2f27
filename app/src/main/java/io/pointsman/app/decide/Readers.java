package io.pointsman.app.decide;

import io.pointsman.engine.policy.WantedFields;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * Request readers for threads that come and go: each keeps scratch memory, so a few are lent out
 * again and again. When all are out, another one is made and let go afterwards.
 */
public final class Readers {
  private static final int KEPT = 16;

  private final AffinitySettings affinity;
  private final WantedFields wanted;
  private final ArrayBlockingQueue<RequestReader> idle = new ArrayBlockingQueue<>(KEPT);

  /** For policies that ask for no fields. */
  public Readers(AffinitySettings affinity) {
    this(affinity, WantedFields.NONE);
  }

  /**
   * @param wanted what policies read of requests
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
