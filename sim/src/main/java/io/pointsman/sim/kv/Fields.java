package io.pointsman.sim.kv;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the fields of one JSON object and names the first that is wrong. */
public final class Fields {
  private final JsonNode object;
  private final String prefix;

  /** Reads an object; {@code prefix} is put before names in errors. */
  public Fields(JsonNode object, String prefix) {
    this.object = object;
    this.prefix = prefix;
  }

  /** A field as it is. */
  public JsonNode at(String name) {
    return object.path(name);
  }

  /** Whether a field is there and not null. */
  public boolean has(String name) {
    return present(at(name));
  }

  /** Whether a node is there and not null. */
  public static boolean present(JsonNode node) {
    return !node.isMissingNode() && !node.isNull();
  }

  /** A boolean that must have this value. */
  public void is(String name, boolean expected) {
    JsonNode node = at(name);
    if (!node.isBoolean() || node.booleanValue() != expected) {
      throw wrong(name, Boolean.toString(expected));
    }
  }

  /** A field that must be null or absent. */
  public void isNull(String name) {
    if (has(name)) {
      throw wrong(name, "null");
    }
  }

  /** A text that is not empty. */
  public String text(String name) {
    JsonNode node = at(name);
    if (!node.isTextual() || node.textValue().isEmpty()) {
      throw wrong(name, "a string");
    }
    return node.textValue();
  }

  /** An integer in a range. */
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

  /** A port. */
  public int port(String name) {
    return integer(name, 1, 65_535);
  }

  /** A list of ports, one for each of {@code ranks}. */
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

  /** A list of lists of integers. */
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

  /** An object; its own fields are read with its name in front. */
  public Fields object(String name) {
    JsonNode node = at(name);
    if (!node.isObject()) {
      throw wrong(name, "an object");
    }
    return new Fields(node, prefix + name + ".");
  }

  /** The error of a field. */
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
