package io.pointsman.request.splice;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import java.io.ByteArrayOutputStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Gathers the text that a chat's answer consists of, from an answer in one piece or from the JSON
 * of each event of a stream. Keeps scratch memory: one per thread.
 */
public final class ChatText {
  /** What an answer may say beside its text: then the text is not all that the model generated. */
  private static final List<String> OTHERS =
      List.of("tool_calls", "function_call", "reasoning", "reasoning_content", "refusal", "audio");

  private final JsonCursor json = new JsonCursor(StringScanner.best());

  /**
   * Adds the text of the first choice, escaped as it came.
   *
   * @param bytes array that holds one JSON object; neither changed nor kept
   * @return false if the choice says something else, or was cut at a stop string
   */
  public boolean append(byte[] bytes, int offset, int length, ByteArrayOutputStream into) {
    JsonMembers answer = JsonMembers.read(json, bytes, offset, offset + length);
    JsonMembers choice = answer == null ? null : ReplyReader.firstChoice(json, bytes, answer);
    if (choice == null) {
      return answer != null;
    }
    int reason = choice.last("stop_reason");
    if (reason >= 0 && bytes[choice.valueFrom(reason)] == '"') {
      return false;
    }
    JsonMembers message = message(bytes, choice);
    return message == null || append(bytes, message, into);
  }

  private @Nullable JsonMembers message(byte[] bytes, JsonMembers choice) {
    int i = Math.max(choice.last("delta"), choice.last("message"));
    return i < 0 ? null : JsonMembers.read(json, bytes, choice.valueFrom(i), choice.valueTo(i));
  }

  private static boolean append(byte[] bytes, JsonMembers message, ByteArrayOutputStream into) {
    for (String name : OTHERS) {
      int i = message.last(name);
      if (i >= 0 && !empty(bytes, message.valueFrom(i), message.valueTo(i))) {
        return false;
      }
    }
    int i = message.last("content");
    if (i < 0 || bytes[message.valueFrom(i)] == 'n') {
      return true;
    }
    int from = message.valueFrom(i);
    if (bytes[from] != '"') {
      return false;
    }
    into.write(bytes, from + 1, message.valueTo(i) - from - 2);
    return true;
  }

  /** Null, an empty string or an empty list. */
  private static boolean empty(byte[] bytes, int from, int to) {
    return bytes[from] == 'n' || (to - from == 2 && bytes[from] != '{');
  }
}
