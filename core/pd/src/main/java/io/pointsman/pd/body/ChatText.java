package io.pointsman.pd.body;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.io.ByteArrayOutputStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Collector of the text of a chat's answer, from an answer in one piece or from the events of a
 * stream. Keeps scratch memory; one per thread.
 */
public final class ChatText {
  /**
   * Members of a message beside its text. With one of them, the text is not all generated output.
   */
  private static final List<String> OTHERS =
      List.of("tool_calls", "function_call", "reasoning", "reasoning_content", "refusal", "audio");

  private final JsonCursor json = new JsonCursor(StringScanner.best());

  /**
   * Appends the text of the first choice, with its escapes unresolved.
   *
   * @param bytes array that contains one JSON object; neither changed nor kept
   * @return false if the choice has other output or ended at a stop string
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

  /** True for null, an empty string or an empty list. */
  private static boolean empty(byte[] bytes, int from, int to) {
    return bytes[from] == 'n' || (to - from == 2 && bytes[from] != '{');
  }
}
