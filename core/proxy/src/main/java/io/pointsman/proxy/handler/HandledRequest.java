package io.pointsman.proxy.handler;

import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/**
 * A client's request after it was read. Usable after its end, except the body.
 *
 * @param head its head, without the coding of a body that was decoded
 * @param facts the facts that routing needs
 * @param id its id, which the client's answer carries
 * @param received its body, as far as it was received
 * @param faults its failures on workers
 */
public record HandledRequest(
    RequestHead head, RequestFacts facts, String id, RequestBody received, RequestFaults faults) {
  /** The body; null if it is not complete. A caller that keeps it longer must retain it. */
  public @Nullable KeptBody body() {
    return received.whole();
  }
}
