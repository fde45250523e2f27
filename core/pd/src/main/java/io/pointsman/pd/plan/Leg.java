package io.pointsman.pd.plan;

import io.pointsman.proxy.wire.Header;
import io.pointsman.request.splice.BodyEdit;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Worker;
import java.util.List;

/**
 * One request to one worker, derived from the client's request.
 *
 * @param path the request target
 * @param headers headers added to the client's
 * @param edits changes to the client's body
 */
public record Leg(Worker worker, String path, List<Header> headers, List<BodyEdit> edits) {
  public Leg {
    requireNonNull(worker, "worker");
    requireNonNull(path, "path");
    headers = List.copyOf(headers);
    edits = List.copyOf(edits);
  }

  /** Returns the same request for another worker. */
  public Leg to(Worker other) {
    return new Leg(other, path, headers, edits);
  }
}
