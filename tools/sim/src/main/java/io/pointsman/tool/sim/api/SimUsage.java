package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.GenerationRun;

/** The usage object of the OpenAI APIs. */
final class SimUsage {
  private SimUsage() {}

  static ObjectNode of(GenerationRun run) {
    int prompt = run.request().promptTokens();
    int completion = run.completionTokens();
    ObjectNode usage = SimJson.object();
    usage.put("prompt_tokens", prompt);
    usage.put("total_tokens", prompt + completion);
    usage.put("completion_tokens", completion);
    usage.putObject("prompt_tokens_details").put("cached_tokens", run.cachedTokens());
    return usage;
  }
}
