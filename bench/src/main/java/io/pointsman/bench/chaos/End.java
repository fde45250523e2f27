package io.pointsman.bench.chaos;

/** Result of a request for its client. */
enum End {
  SERVED("answered in full", true),
  STREAM_ENDED_WITH_ERROR("stream cut on the engine, ended in order with an error event", true),
  STREAM_ENDED_AT_ITS_HEAD("the same behind the head, before any event of the engine", true),
  HEALTHY_STREAM_ENDED("stream ended with an error event, though nothing befell its engine", false),
  STREAM_CUT("stream just stopped", false),
  WHOLE_CUT("answer that is no stream, cut", false),
  SERVER_ERROR("status 5xx", false),
  OTHER_STATUS("other status than 200", false),
  WRONG_ANSWER("200, but not the words that the engine says, all of them and in order", false),
  NO_ANSWER("connection ended before any answer", false),
  NO_END("not over after a minute", false),
  NOT_SENT("not sent: too many requests under way", false);

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
