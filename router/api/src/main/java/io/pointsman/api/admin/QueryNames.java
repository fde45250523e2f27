package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.config.value.Nearest;
import io.pointsman.proxy.local.LocalRequest;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks the names of query parameters and of members of bodies on the admin listener. A misspelt
 * name is refused: a call that ignored it would do something else than its caller asked for.
 */
public final class QueryNames {
  private static final int LONGEST = 64;

  private QueryNames() {}

  /**
   * The problem of a request with a query parameter that its path does not know; null if there is
   * none.
   *
   * @param known names of the path's parameters
   */
  public static @Nullable String problem(LocalRequest request, List<String> known) {
    for (String name : request.parameters()) {
      if (!known.contains(name)) {
        return unknown(name, known);
      }
    }
    return null;
  }

  /**
   * The problem of a parameter with a name near to one of {@code known}, on a path that passes all
   * other parameters to engines; null if there is none.
   *
   * @param passed names near to a known one that engines know
   */
  static @Nullable String misspelt(LocalRequest request, List<String> known, List<String> passed) {
    for (String name : request.parameters()) {
      boolean other = !known.contains(name) && !passed.contains(name);
      if (other && name.length() <= LONGEST && Nearest.to(name, known).isPresent()) {
        return unknown(name, known);
      }
    }
    return null;
  }

  /**
   * The problem of a JSON object with a member that its path does not know; null if there is none.
   *
   * @param known names of the path's members
   */
  static @Nullable String problemOfMembers(JsonNode body, Collection<String> known) {
    Iterator<String> names = body.fieldNames();
    while (names.hasNext()) {
      String name = names.next();
      if (!known.contains(name)) {
        return unknown(name, known, "member");
      }
    }
    return null;
  }

  private static String unknown(String name, Collection<String> known) {
    return unknown(name, known, "query parameter");
  }

  private static String unknown(String name, Collection<String> known, String kind) {
    String shown = name.length() <= LONGEST ? name : name.substring(0, LONGEST) + "...";
    String longer =
        known.stream().filter(each -> each.startsWith(shown + "_")).findFirst().orElse("");
    String hint = longer.isEmpty() ? Nearest.hint(shown, known) : " (did you mean " + longer + "?)";
    String expected = known.isEmpty() ? "none" : String.join(", ", known);
    return shown + ": unknown " + kind + (hint.isEmpty() ? " (expected: " + expected + ")" : hint);
  }
}
