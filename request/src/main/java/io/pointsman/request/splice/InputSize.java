package io.pointsman.request.splice;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import java.util.List;

/**
 * Estimates how many tokens a request's input has, by the rule of production-stack's conditional
 * disaggregation: the number of characters, divided by 4, over prompts and over the text of
 * messages and of their parts; exact for token ids. Roles, names, tools, images and templates do
 * not count.
 */
final class InputSize {
  private static final List<String> INPUTS =
      List.of(
          "prompt",
          "messages",
          "input",
          "text",
          "input_ids",
          "prompt_token_ids",
          "token_ids",
          "system",
          "instructions");

  /** Lists in lists and parts in parts beyond this are not looked into. */
  private static final int MAX_DEPTH = 8;

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private byte[] body = {};
  private int origin;
  private long characters;
  private long ids;

  long tokens(byte[] body, JsonMembers members) {
    this.body = body;
    characters = 0;
    ids = 0;
    for (int i = 0; i < members.count(); i++) {
      if (isInput(members, i)) {
        origin = members.valueFrom(i);
        json.reset(body, origin, members.valueTo(i));
        value(0);
        json.release();
      }
    }
    this.body = new byte[0];
    return ids + characters / 4;
  }

  private static boolean isInput(JsonMembers members, int i) {
    for (String name : INPUTS) {
      if (members.is(i, name)) {
        return true;
      }
    }
    return false;
  }

  private void value(int depth) {
    int first = json.peek();
    if (first == '"') {
      string();
    } else if (first == '[' && depth < MAX_DEPTH) {
      array(depth);
    } else if (first == '{' && depth < MAX_DEPTH) {
      object(depth);
    } else {
      json.value();
    }
  }

  private void array(int depth) {
    for (boolean more = json.firstElement(); more; more = json.nextElement()) {
      int first = json.peek();
      if (first >= '0' && first <= '9') {
        ids += json.ids();
      } else {
        value(depth + 1);
      }
    }
  }

  /** A message, whose content counts, or a part of one, whose text does. */
  private void object(int depth) {
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      if (json.keyIs("content") || json.keyIs("text")) {
        value(depth + 1);
      } else {
        json.value();
      }
    }
  }

  private void string() {
    int from = origin + json.position() + 1;
    json.value();
    characters += characters(from, origin + json.position() - 1);
  }

  /** Code points of a string's content: every escape is one, a pair of surrogates too. */
  private long characters(int from, int to) {
    long count = 0;
    for (int i = from; i < to; i++) {
      byte b = body[i];
      if (b == '\\' && i + 1 < to) {
        boolean unicode = body[i + 1] == 'u';
        count += unicode && lowSurrogate(i + 2, to) ? 0 : 1;
        i += unicode ? 5 : 1;
      } else if ((b & 0xC0) != 0x80) {
        count++;
      }
    }
    return count;
  }

  /** Whether the hex digits say the second half of a character: DC00 to DFFF. */
  private boolean lowSurrogate(int at, int to) {
    return at + 1 < to && (body[at] | 0x20) == 'd' && "cdef".indexOf(body[at + 1] | 0x20) >= 0;
  }
}
