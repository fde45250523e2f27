package io.pointsman.sim.live;

import com.fasterxml.jackson.databind.JsonNode;

/** Writes the answer of a finished run as one document. */
@FunctionalInterface
public interface WholeReply {
  /** The document to answer with. */
  JsonNode document(GenerationRun run);
}
