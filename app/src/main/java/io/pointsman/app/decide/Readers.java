package io.pointsman.app.decide;

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
  private final ArrayBlockingQueue<RequestReader> idle = new ArrayBlockingQueue<>(KEPT);

  public Readers(AffinitySettings affinity) {
    this.affinity = affinity;
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
    RequestReader reader = lent == null ? new RequestReader(affinity) : lent;
    RequestFacts facts = reader.read(endpoint, headers, body, offset, length, truncated);
    idle.offer(reader);
    return facts;
  }
}
