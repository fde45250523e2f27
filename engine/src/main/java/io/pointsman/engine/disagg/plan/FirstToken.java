package io.pointsman.engine.disagg.plan;

import java.util.List;

/**
 * The first token, which the prefill worker has generated and the decode worker takes for a part of
 * the prompt: it stands before the decode worker's text in what the client gets.
 *
 * @param text its text, a JSON string
 * @param usage what is to be changed in each answer of the decode worker that has a {@code usage}
 */
public record FirstToken(RawJson text, List<BodyEdit> usage) {
  public FirstToken {
    usage = List.copyOf(usage);
  }
}
