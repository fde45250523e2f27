package io.pointsman.batch;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A batch as it is stored.
 *
 * @param json the object of the API without its counts
 * @param completed number of requests with a good answer
 * @param failed number of requests without one
 * @param owner client that may use it, see {@link Owners}
 */
record Batch(
    String id, BatchStatus status, ObjectNode json, int completed, int failed, String owner) {
  private static final String[] TIMES = {
    "in_progress_at",
    "expires_at",
    "finalizing_at",
    "completed_at",
    "failed_at",
    "expired_at",
    "cancelling_at",
    "cancelled_at"
  };

  /**
   * A new batch of the owner of its input.
   *
   * @param now seconds since 1970
   * @param expiresAt seconds since 1970
   */
  static Batch create(
      String id, StoredFile input, String endpoint, String window, long now, long expiresAt) {
    ObjectNode json = Answers.object();
    json.put("id", id);
    json.put("object", "batch");
    json.put("endpoint", endpoint);
    json.putNull("errors");
    json.put("input_file_id", input.id());
    json.put("completion_window", window);
    json.putNull("output_file_id");
    json.putNull("error_file_id");
    json.put("created_at", now);
    for (String time : TIMES) {
      json.putNull(time);
    }
    json.put("expires_at", expiresAt);
    json.put("total", 0);
    json.putNull("metadata");
    return new Batch(id, BatchStatus.VALIDATING, json, 0, 0, input.owner());
  }

  String endpoint() {
    return json.path("endpoint").asText();
  }

  String input() {
    return json.path("input_file_id").asText();
  }

  long expiresAt() {
    return json.path("expires_at").asLong();
  }

  int total() {
    return json.path("total").asInt();
  }

  /**
   * Copy in another state.
   *
   * @param now seconds since 1970
   */
  Batch with(BatchStatus next, long now) {
    ObjectNode changed = json.deepCopy();
    changed.put(next.time(), now);
    return new Batch(id, next, changed, completed, failed, owner);
  }

  /** The object of the API. */
  ObjectNode shown() {
    ObjectNode shown = json.deepCopy();
    shown.remove("total");
    StoredClient.hide(shown);
    shown.put("status", status.word());
    ObjectNode counts = shown.putObject("request_counts");
    counts.put("total", total());
    counts.put("completed", completed);
    counts.put("failed", failed);
    return shown;
  }
}
