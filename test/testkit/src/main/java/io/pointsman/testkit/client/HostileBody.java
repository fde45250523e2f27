package io.pointsman.testkit.client;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/** Request bodies that are invalid or excessive JSON, by name. */
@SuppressWarnings("ImmutableEnumChecker") // the makers have no state
public enum HostileBody {
  EMPTY(_ -> text("")),
  NOT_JSON(_ -> text("hello")),
  NOT_AN_OBJECT(_ -> text("[1]")),
  CUT_OFF(model -> text("{\"model\":\"" + model + "\",\"prompt\":\"hel")),
  UNQUOTED_KEY(model -> text("{model:\"" + model + "\"}")),
  MISSING_COMMA(model -> text("{\"model\":\"" + model + "\" \"prompt\":\"x\"}")),
  BEHIND_THE_END(model -> text("{\"model\":\"" + model + "\"}}")),
  CONTROL_CHARACTER(model -> text("{\"model\":\"" + model + "\",\"prompt\":\"a\u0000b\"}")),
  INVALID_UTF_8(model -> prompt(model, new byte[] {(byte) 0xc3, (byte) 0x28})),
  OVERLONG_UTF_8(model -> prompt(model, new byte[] {(byte) 0xc0, (byte) 0x80})),
  LONE_SURROGATE(model -> prompt(model, "\\ud800".getBytes(StandardCharsets.US_ASCII))),
  BROKEN_ESCAPE(model -> prompt(model, "\\u12".getBytes(StandardCharsets.US_ASCII))),
  DEEP_LISTS(model -> deep(model, "[", "]")),
  DEEP_OBJECTS(model -> deep(model, "{\"a\":", "}")),
  DEEP_AND_OPEN(model -> text("{\"model\":\"" + model + "\",\"x\":" + "[".repeat(100_000))),
  HUGE_STRING(model -> prompt(model, "x".repeat(6 << 20).getBytes(StandardCharsets.US_ASCII))),
  HUGE_ESCAPES(model -> prompt(model, "\\n".repeat(3 << 20).getBytes(StandardCharsets.US_ASCII))),
  HUGE_NUMBER(model -> text("{\"model\":\"" + model + "\",\"seed\":" + "9".repeat(1 << 20) + "}")),
  MANY_KEYS(HostileBody::manyKeys);

  private static final int LEVELS = 100_000;

  private final Function<String, byte[]> maker;

  HostileBody(Function<String, byte[]> maker) {
    this.maker = maker;
  }

  /** The body, for a request to {@code model}. */
  public byte[] bytes(String model) {
    return maker.apply(model);
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] prompt(String model, byte[] inside) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(text("{\"model\":\"" + model + "\",\"max_tokens\":1,\"prompt\":\""));
    body.writeBytes(inside);
    body.writeBytes(text("\"}"));
    return body.toByteArray();
  }

  private static byte[] deep(String model, String open, String close) {
    return text(
        "{\"model\":\""
            + model
            + "\",\"x\":"
            + open.repeat(LEVELS)
            + "1"
            + close.repeat(LEVELS)
            + "}");
  }

  private static byte[] manyKeys(String model) {
    StringBuilder body = new StringBuilder("{\"model\":\"").append(model).append('"');
    for (int i = 0; i < LEVELS; i++) {
      body.append(",\"k").append(i).append("\":").append(i);
    }
    return text(body.append('}').toString());
  }
}
