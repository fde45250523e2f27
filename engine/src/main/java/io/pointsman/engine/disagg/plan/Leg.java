package io.pointsman.engine.disagg.plan;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Worker;
import java.util.List;

/**
 * One request to one worker, made from the client's.
 *
 * @param path the request target
 * @param headers what is added to the client's headers
 * @param edits what is changed in the client's body
 */
public record Leg(Worker worker, String path, List<Header> headers, List<BodyEdit> edits) {
  public Leg {
    requireNonNull(worker, "worker");
    requireNonNull(path, "path");
    headers = List.copyOf(headers);
    edits = List.copyOf(edits);
  }

  /** The same request to another worker. */
  public Leg to(Worker other) {
    return new Leg(other, path, headers, edits);
  }
}
