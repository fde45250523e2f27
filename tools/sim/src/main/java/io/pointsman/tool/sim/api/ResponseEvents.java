package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.api.ResponseStore.Stored;
import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.live.StreamReply;

/** The events of a streamed response; one message with one text part. */
final class ResponseEvents implements StreamReply {
  private final GenerationRun run;
  private final Stored stored;
  private int number;

  ResponseEvents(GenerationRun run, JsonNode body) {
    this.run = run;
    this.stored = new Stored(run, body, false);
  }

  /** Sends both events before computation, as vLLM does. */
  @Override
  public void taken(SimEventStream out) {
    begun(out, "response.created");
    begun(out, "response.in_progress");
  }

  private void begun(SimEventStream out, String type) {
    ObjectNode response = ResponsesApi.document(stored).put("status", "in_progress");
    send(out, event(type).set("response", response));
  }

  @Override
  public void opened(SimEventStream out) {
    ObjectNode item = ResponsesApi.message(run).put("status", "in_progress");
    item.putArray("content");
    send(out, event("response.output_item.added").put("output_index", 0).set("item", item));
    send(out, inPart("response.content_part.added").set("part", ResponsesApi.part("")));
  }

  @Override
  public void token(SimEventStream out, int choice, int index) {
    send(out, inPart("response.output_text.delta").put("delta", run.answer(0).text(index)));
  }

  @Override
  public void ended(SimEventStream out, int choice) {
    String text = run.answer(0).firstWords(run.length(0));
    send(out, inPart("response.output_text.done").put("text", text));
    send(out, inPart("response.content_part.done").set("part", ResponsesApi.part(text)));
    ObjectNode done = event("response.output_item.done").put("output_index", 0);
    send(out, done.set("item", ResponsesApi.message(run)));
  }

  @Override
  public void closed(SimEventStream out) {
    // vLLM sends this event for an incomplete response too
    String status = ResponsesApi.status(run);
    response(out, "response." + (status.equals("incomplete") ? "completed" : status));
  }

  private void response(SimEventStream out, String type) {
    send(out, event(type).set("response", ResponsesApi.document(stored)));
  }

  private ObjectNode inPart(String type) {
    ObjectNode event = event(type).put("item_id", run.id("msg_"));
    return event.put("output_index", 0).put("content_index", 0);
  }

  private ObjectNode event(String type) {
    return SimJson.object().put("type", type).put("sequence_number", number++);
  }

  private static void send(SimEventStream out, JsonNode event) {
    out.event(event.path("type").asText(), event.toString());
  }
}
