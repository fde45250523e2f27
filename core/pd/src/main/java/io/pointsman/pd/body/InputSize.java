package io.pointsman.pd.body;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.util.List;

/**
 * Estimate of the tokens of a request's input, by the rule of production-stack's conditional
 * disaggregation. It is the number of characters in prompts and in the text of messages and their
 * parts, divided by 4. Token ids count exactly. Roles, names, tools, images and templates do not
 * count. production-stack takes the length of a list in {@code prompt} for elements of every kind;
 * this is an option here.
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

  /** Maximum depth of nested lists and parts. Deeper ones do not count. */
  private static final int MAX_DEPTH = 8;

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final boolean listsByLength;
  private byte[] body = {};
  private int origin;
  private long characters;
  private long ids;

  /**
   * @param listsByLength true if a list in {@code prompt} counts by its length
   */
  InputSize(boolean listsByLength) {
    this.listsByLength = listsByLength;
  }

  long tokens(byte[] body, JsonMembers members) {
    this.body = body;
    characters = 0;
    ids = 0;
    for (int i = 0; i < members.count(); i++) {
      if (isInput(members, i)) {
        origin = members.valueFrom(i);
        json.reset(body, origin, members.valueTo(i));
        if (listsByLength && members.is(i, "prompt") && json.peek() == '[') {
          ids += length();
        } else {
          value(0);
        }
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

  private long length() {
    long length = 0;
    for (boolean more = json.firstElement(); more; more = json.nextElement()) {
      int first = json.peek();
      if (first >= '0' && first <= '9') {
        length += json.ids();
      } else {
        json.value();
        length++;
      }
    }
    return length;
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

  /** Reads a message or a part of one. Only the members {@code content} and {@code text} count. */
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

  /**
   * Number of code points in a string. An escape is one code point; so is a pair of escaped
   * surrogates.
   */
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

  /** True if the hex digits are the second half of a surrogate pair: DC00 to DFFF. */
  private boolean lowSurrogate(int at, int to) {
    return at + 1 < to && (body[at] | 0x20) == 'd' && "cdef".indexOf(body[at + 1] | 0x20) >= 0;
  }
}
