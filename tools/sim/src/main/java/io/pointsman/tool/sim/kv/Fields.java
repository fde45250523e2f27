package io.pointsman.tool.sim.kv;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the fields of one JSON object and reports the first wrong one. */
public final class Fields {
  private final JsonNode object;
  private final String prefix;

  /** Reads an object; {@code prefix} precedes names in errors. */
  public Fields(JsonNode object, String prefix) {
    this.object = object;
    this.prefix = prefix;
  }

  /** Returns a field without a check. */
  public JsonNode at(String name) {
    return object.path(name);
  }

  /** Returns true if a field is present and not null. */
  public boolean has(String name) {
    return present(at(name));
  }

  /** Returns true if a node is present and not null. */
  public static boolean present(JsonNode node) {
    return !node.isMissingNode() && !node.isNull();
  }

  /** Requires a boolean with this value. */
  public void is(String name, boolean expected) {
    JsonNode node = at(name);
    if (!node.isBoolean() || node.booleanValue() != expected) {
      throw wrong(name, Boolean.toString(expected));
    }
  }

  /** Requires a field to be null or absent. */
  public void isNull(String name) {
    if (has(name)) {
      throw wrong(name, "null");
    }
  }

  /** Reads a text that is not empty. */
  public String text(String name) {
    JsonNode node = at(name);
    if (!node.isTextual() || node.textValue().isEmpty()) {
      throw wrong(name, "a string");
    }
    return node.textValue();
  }

  /** Reads an integer in a range. */
  public int integer(String name, int least, int most) {
    JsonNode node = at(name);
    if (!node.isIntegralNumber()
        || !node.canConvertToInt()
        || node.intValue() < least
        || node.intValue() > most) {
      throw wrong(name, "an integer of " + least + " to " + most);
    }
    return node.intValue();
  }

  /** Reads a port. */
  public int port(String name) {
    return integer(name, 1, 65_535);
  }

  /** Reads a list of ports, one for each of {@code ranks}. */
  public List<Integer> ports(String name, int ranks) {
    JsonNode node = at(name);
    if (!node.isArray() || node.size() != ranks) {
      throw wrong(name, "a list of " + ranks + " ports");
    }
    List<Integer> ports = new ArrayList<>();
    for (JsonNode item : node) {
      int port = item.isIntegralNumber() ? item.intValue() : 0;
      if (port < 1 || port > 65_535) {
        throw wrong(name, "a list of ports");
      }
      ports.add(port);
    }
    return ports;
  }

  /** Reads a list of lists of integers. */
  public JsonNode blockLists(String name) {
    JsonNode node = at(name);
    boolean good = node.isArray() && !node.isEmpty();
    for (int i = 0; good && i < node.size(); i++) {
      JsonNode group = node.get(i);
      good = group.isArray();
      for (int j = 0; good && j < group.size(); j++) {
        good = group.get(j).isIntegralNumber();
      }
    }
    if (!good) {
      throw wrong(name, "a list of lists of block numbers");
    }
    return node;
  }

  /** Reads an object; errors name its fields with its name as prefix. */
  public Fields object(String name) {
    JsonNode node = at(name);
    if (!node.isObject()) {
      throw wrong(name, "an object");
    }
    return new Fields(node, prefix + name + ".");
  }

  /** Creates the error of a field. */
  public FieldError wrong(String name, String expected) {
    return FieldError.wrong(prefix + name, shown(at(name)), expected);
  }

  private static String shown(@Nullable JsonNode node) {
    if (node == null || node.isMissingNode()) {
      return "missing";
    }
    String text = node.toString();
    return text.length() > 200 ? text.substring(0, 200) + "..." : text;
  }
}
