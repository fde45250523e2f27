package io.pointsman.tool.sim.live;

import com.fasterxml.jackson.databind.JsonNode;

/** Writes the response of a finished run as one document. */
@FunctionalInterface
public interface WholeReply {
  /** The document to respond with. */
  JsonNode document(GenerationRun run);
}
