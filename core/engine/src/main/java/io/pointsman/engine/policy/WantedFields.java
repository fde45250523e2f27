package io.pointsman.engine.policy;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/**
 * The request fields that a policy reads. The router does not store or parse any others.
 *
 * @param headers names in lower case; {@link #ALL} for every header
 * @param body names of members of the JSON object in the body; {@link #ALL} for every member
 */
public record WantedFields(Set<String> headers, Set<String> body) {
  /** Matches every name. */
  public static final String ALL = "*";

  public static final WantedFields NONE = new WantedFields(Set.of(), Set.of());

  public WantedFields {
    Set<String> lower = new HashSet<>();
    headers.forEach(name -> lower.add(name.toLowerCase(Locale.ROOT)));
    headers = Set.copyOf(lower);
    body = Set.copyOf(body);
  }

  public boolean isEmpty() {
    return headers.isEmpty() && body.isEmpty();
  }

  public boolean wantsHeader(String lowerCaseName) {
    return headers.contains(lowerCaseName) || headers.contains(ALL);
  }

  public boolean wantsField(String name) {
    return body.contains(name) || body.contains(ALL);
  }

  /** Returns the union of both. */
  public WantedFields and(WantedFields other) {
    Set<String> allHeaders = new HashSet<>(headers);
    allHeaders.addAll(other.headers);
    Set<String> allBody = new HashSet<>(body);
    allBody.addAll(other.body);
    return new WantedFields(allHeaders, allBody);
  }
}
