package io.pointsman.tool.bench.chaos;

/** Result of a request for its client. */
enum End {
  SERVED("answered in full", true),
  STREAM_ENDED_WITH_ERROR("stream cut by the engine, ended with an error event", true),
  STREAM_ENDED_AT_ITS_HEAD(
      "the same after the response head, before any event of the engine", true),
  LEFT("client left early", true),
  POISON_REFUSED("request that ends engines, refused", true),
  HEALTHY_STREAM_ENDED("stream ended with an error event although its engine had no fault", false),
  STREAM_CUT("stream stopped without an error event", false),
  WHOLE_CUT("response without streaming, cut", false),
  SERVER_ERROR("status 5xx", false),
  OTHER_STATUS("other status than 200", false),
  WRONG_ANSWER("200, but with missing, wrong or reordered words", false),
  NO_ANSWER("connection ended before any response", false),
  NO_END("not finished after 1 min", false),
  NOT_SENT("not sent: too many requests in flight", false);

  private final String meaning;
  private final boolean allowed;

  End(String meaning, boolean allowed) {
    this.meaning = meaning;
    this.allowed = allowed;
  }

  String meaning() {
    return meaning;
  }

  /** True if the target permits this result. */
  boolean allowed() {
    return allowed;
  }
}
