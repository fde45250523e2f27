package io.pointsman.request.strict;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Type of a member in the structures of vllm-router. {@code null} counts as an absent member. */
enum StrictType {
  STRING("a string"),
  BOOLEAN("a boolean"),
  NUMBER("a number"),
  INTEGER("an integer"),
  COUNT("an integer from 0 to 4294967295"),
  OBJECT("an object"),
  /** A string or a list of strings. */
  TEXTS("a string or a list of strings"),
  STRINGS("a list of strings"),
  IDS("a list of integers"),
  PROMPT("a string, a list of strings, token ids, or a list of token ids"),
  MESSAGES("a list of messages"),
  TOOLS("a list of tools of type function"),
  TOOL_CHOICE("none, auto, required, or an object with a type"),
  RESPONSE_FORMAT("an object of type text, json_object or json_schema"),
  EFFORT("one of none, minimal, low, medium, high, xhigh");

  private static final long MOST_COUNT = 4_294_967_295L;
  private static final Pattern WHOLE = Pattern.compile("-?[0-9]{1,18}");
  private static final Set<String> EFFORTS =
      Set.of("none", "minimal", "low", "medium", "high", "xhigh");
  private static final Set<String> CHOICES = Set.of("none", "auto", "required");
  private static final Set<String> FORMATS = Set.of("text", "json_object", "json_schema");
  private static final Set<String> ROLES =
      Set.of("system", "developer", "user", "assistant", "tool", "function");

  private final String expected;

  StrictType(String expected) {
    this.expected = expected;
  }

  /**
   * The reason why a value has another type; null if it has this one.
   *
   * @param required true if {@code null} is refused too
   */
  @Nullable String fault(byte[] bytes, int from, int to, boolean required) {
    Value value = new Value(bytes, from, to);
    if (value.first() == 'n' && !required) {
      return null;
    }
    if (this == MESSAGES && value.first() == '[') {
      return value.items().stream()
          .map(StrictType::messageFault)
          .filter(fault -> fault != null)
          .findFirst()
          .orElse(null);
    }
    return accepts(value) ? null : "wrong type (expected: " + expected + ")";
  }

  private boolean accepts(Value value) {
    return switch (this) {
      case STRING -> value.string();
      case BOOLEAN -> value.first() == 't' || value.first() == 'f';
      case NUMBER -> value.number();
      case INTEGER -> value.whole();
      case COUNT -> value.whole() && value.integer() >= 0 && value.integer() <= MOST_COUNT;
      case OBJECT -> value.first() == '{';
      case TEXTS -> value.string() || value.all(Value::string);
      case STRINGS -> value.all(Value::string);
      case IDS -> value.all(Value::whole);
      case PROMPT ->
          value.string()
              || value.all(Value::string)
              || value.all(Value::whole)
              || value.all(each -> each.all(Value::whole));
      case MESSAGES -> false;
      case TOOLS -> value.all(StrictType::isTool);
      case TOOL_CHOICE ->
          value.string() ? CHOICES.contains(value.text()) : value.member("type") != null;
      case RESPONSE_FORMAT -> isOneOf(value.member("type"), FORMATS);
      case EFFORT -> isOneOf(value, EFFORTS);
    };
  }

  private static boolean isOneOf(@Nullable Value value, Set<String> names) {
    return value != null && value.string() && names.contains(value.text());
  }

  private static boolean isTool(Value tool) {
    Value function = tool.member("function");
    Value name = function == null ? null : function.member("name");
    return isOneOf(tool.member("type"), Set.of("function")) && name != null && name.string();
  }

  private static @Nullable String messageFault(Value message) {
    Value role = message.member("role");
    if (!isOneOf(role, ROLES)) {
      return "a message without a known role (expected: one of "
          + String.join(", ", ROLES.stream().sorted().toList())
          + ")";
    }
    Value content = message.member("content");
    boolean absent = content == null || content.first() == 'n';
    boolean optional = role != null && role.text().equals("assistant");
    if (absent || content == null) {
      return optional ? null : "a message without content";
    }
    if (content.string()) {
      return null;
    }
    return content.all(StrictType::isPart)
        ? null
        : "content of a wrong type (expected: a string, or parts of type text or image_url)";
  }

  private static boolean isPart(Value part) {
    Value text = part.member("text");
    if (isOneOf(part.member("type"), Set.of("text"))) {
      return text != null && text.string();
    }
    Value image = part.member("image_url");
    Value url = image == null ? null : image.member("url");
    return isOneOf(part.member("type"), Set.of("image_url")) && url != null && url.string();
  }

  /** A JSON value, as positions in the bytes of the body. */
  @SuppressWarnings("ArrayRecordComponent") // a view, never compared
  private record Value(byte[] bytes, int from, int to) {
    private interface Condition {
      boolean holds(Value value);
    }

    char first() {
      return (char) bytes[from];
    }

    boolean string() {
      return first() == '"';
    }

    /** The content of a string, undecoded, or the literal. */
    String text() {
      int quotes = string() ? 1 : 0;
      return new String(bytes, from + quotes, to - from - 2 * quotes, ISO_8859_1);
    }

    boolean number() {
      return first() == '-' || (first() >= '0' && first() <= '9');
    }

    boolean whole() {
      return number() && to - from < 20 && WHOLE.matcher(text()).matches();
    }

    long integer() {
      return Long.parseLong(text());
    }

    List<Value> items() {
      return JsonItems.of(bytes, from, to).stream()
          .map(item -> new Value(bytes, item.from(), item.to()))
          .toList();
    }

    /** True if this is a list and all of its elements satisfy the condition. */
    boolean all(Condition condition) {
      return first() == '[' && items().stream().allMatch(condition::holds);
    }

    @Nullable Value member(String name) {
      JsonMembers members =
          first() == '{'
              ? JsonMembers.read(new JsonCursor(StringScanner.best()), bytes, from, to)
              : null;
      int i = members == null ? -1 : members.last(name);
      return members == null || i < 0
          ? null
          : new Value(bytes, members.valueFrom(i), members.valueTo(i));
    }
  }
}
