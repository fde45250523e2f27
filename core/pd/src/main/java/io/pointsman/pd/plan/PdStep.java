package io.pointsman.pd.plan;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.splice.BodyEdit;
import java.util.List;

/**
 * One request to one worker, derived from the client's request.
 *
 * @param path the request target
 * @param headers headers added to the client's
 * @param edits changes to the client's body
 */
public record PdStep(Worker worker, String path, List<Header> headers, List<BodyEdit> edits) {
  public PdStep {
    requireNonNull(worker, "worker");
    requireNonNull(path, "path");
    headers = List.copyOf(headers);
    edits = List.copyOf(edits);
  }

  /** Returns the same request for another worker. */
  public PdStep to(Worker other) {
    return new PdStep(other, path, headers, edits);
  }
}
