package io.pointsman.server.planted;

import io.opentelemetry.api.trace.Span;
import io.pointsman.control.health.EngineClient;
import io.pointsman.proxy.upstream.EngineKeys;
import java.util.stream.Stream;

/** Violates the rules on purpose; never executed. */
public final class PlantedWiring {
  private PlantedWiring() {}

  static Stream<Object> everything() {
    return Stream.of(
        System.nanoTime(), new EngineClient(EngineKeys.NONE, () -> 0), Span.getInvalid());
  }
}
