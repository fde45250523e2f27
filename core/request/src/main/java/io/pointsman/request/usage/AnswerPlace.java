package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.Map;

/**
 * Object or list of an answer with members that count. The engine alone writes these places.
 * Clients and models choose names and values only below other members.
 */
@SuppressWarnings("ImmutableEnumChecker") // the tables do not change
enum AnswerPlace {
  /** Between two documents. */
  OUTSIDE(false, Map.of()),
  /** A list of answers. */
  LIST(false, Map.of()),
  /** The whole answer, or the data of an event. */
  TOP(
      true,
      Map.ofEntries(
          Map.entry("usage", AnswerMember.USAGE),
          Map.entry("meta_info", AnswerMember.META),
          Map.entry("timings", AnswerMember.TIMINGS),
          Map.entry("error", AnswerMember.ERROR),
          Map.entry("type", AnswerMember.TYPE),
          Map.entry("object", AnswerMember.TYPE),
          Map.entry("choices", AnswerMember.CHOICES),
          Map.entry("response", AnswerMember.RESPONSE),
          Map.entry("message", AnswerMember.MESSAGE),
          Map.entry("delta", AnswerMember.DELTA),
          Map.entry("status", AnswerMember.STATUS),
          Map.entry("stop_reason", AnswerMember.STOP))),
  /** The response in an event. */
  RESPONSE(
      true,
      Map.of(
          "usage", AnswerMember.USAGE,
          "error", AnswerMember.ERROR,
          "status", AnswerMember.STATUS)),
  /** The start of a message. */
  MESSAGE(true, Map.of("usage", AnswerMember.USAGE)),
  /** The end of a message. */
  DELTA(true, Map.of("stop_reason", AnswerMember.STOP)),
  CHOICES(false, Map.of()),
  /** One choice. */
  CHOICE(true, Map.of("finish_reason", AnswerMember.FINISH));

  private static final class Named {
    private final byte[] name;
    private final AnswerMember member;

    Named(String name, AnswerMember member) {
      this.name = name.getBytes(US_ASCII);
      this.member = member;
    }
  }

  private final boolean object;

  /** The members with a name of each length. */
  private final Named[][] byLength;

  AnswerPlace(boolean object, Map<String, AnswerMember> members) {
    this.object = object;
    int longest = members.keySet().stream().mapToInt(String::length).max().orElse(0);
    byLength = new Named[longest + 1][];
    for (int length = 0; length <= longest; length++) {
      int wanted = length;
      byLength[length] =
          members.entrySet().stream()
              .filter(each -> each.getKey().length() == wanted)
              .map(each -> new Named(each.getKey(), each.getValue()))
              .toArray(Named[]::new);
    }
  }

  /** True if it is an object. */
  boolean object() {
    return object;
  }

  /** The member with this name. */
  AnswerMember member(byte[] name, int length) {
    if (length < byLength.length) {
      for (Named each : byLength[length]) {
        if (Arrays.equals(each.name, 0, length, name, 0, length)) {
          return each.member;
        }
      }
    }
    return AnswerMember.NONE;
  }

  /**
   * The place that opens within this one; {@link #OUTSIDE} if no member counts there.
   *
   * @param of the member with this value
   */
  AnswerPlace inner(AnswerMember of, boolean isObject) {
    return switch (this) {
      case OUTSIDE -> isObject ? TOP : LIST;
      case LIST -> isObject ? TOP : OUTSIDE;
      case TOP -> isObject ? innerObject(of) : of == AnswerMember.CHOICES ? CHOICES : OUTSIDE;
      case CHOICES -> isObject ? CHOICE : OUTSIDE;
      case RESPONSE, MESSAGE, DELTA, CHOICE -> OUTSIDE;
    };
  }

  private static AnswerPlace innerObject(AnswerMember of) {
    return switch (of) {
      case RESPONSE -> RESPONSE;
      case MESSAGE -> MESSAGE;
      case DELTA -> DELTA;
      case NONE, USAGE, META, TIMINGS, ERROR, TYPE, CHOICES, STATUS, FINISH, STOP -> OUTSIDE;
    };
  }

  /**
   * The place around this one.
   *
   * @param listed true if the top object lies in a list
   */
  AnswerPlace outer(boolean listed) {
    return switch (this) {
      case OUTSIDE, LIST -> OUTSIDE;
      case TOP -> listed ? LIST : OUTSIDE;
      case RESPONSE, MESSAGE, DELTA, CHOICES -> TOP;
      case CHOICE -> CHOICES;
    };
  }
}
