package io.pointsman.pd.execution.answer;

import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.plan.PrefillReply;

/** Reader of the count of cached prompt tokens in a complete event stream. */
public final class EventUsage {
  /** Maximum number of events to read from the end. The usage is in one of the last events. */
  private static final int MOST_EVENTS = 8;

  private static final int NOT_KNOWN = -1;

  private EventUsage() {}

  /**
   * The count in the last event that has one.
   *
   * @param stream events, without their transfer coding
   * @return negative if no event has one
   */
  public static long cached(ReplyReader replies, byte[] stream) {
    int end = stream.length;
    for (int looked = 0; end > 0 && looked < MOST_EVENTS; ) {
      int from = lineStart(stream, end);
      int object = objectFrom(stream, from, end);
      if (object < end) {
        looked++;
        if (replies.read(stream, object, end - object)
                instanceof ReplyReader.Result.Read(PrefillReply event)
            && event.cachedTokens() >= 0) {
          return event.cachedTokens();
        }
      }
      end = from - 1;
    }
    return NOT_KNOWN;
  }

  private static int lineStart(byte[] bytes, int end) {
    int from = end;
    while (from > 0 && bytes[from - 1] != '\n') {
      from--;
    }
    return from;
  }

  /** Start of the JSON object in a line of data; {@code to} if there is none. */
  private static int objectFrom(byte[] bytes, int from, int to) {
    if (to - from < 6 || bytes[from] != 'd' || bytes[from + 4] != ':') {
      return to;
    }
    int at = from + 5;
    while (at < to && bytes[at] == ' ') {
      at++;
    }
    return at < to && bytes[at] == '{' ? at : to;
  }
}
