package io.pointsman.request.splice;

import java.util.List;

/**
 * A change to a JSON object, applied to its bytes. All parts that no edit names stay unchanged.
 *
 * <p>A path names a member of the object, then members of nested objects. If a name occurs several
 * times, every occurrence is edited, because engines differ in the one they use. A path through a
 * value that is neither an object nor null changes nothing; the engine then rejects the request
 * itself.
 */
public sealed interface BodyEdit {
  /** The path: names from the outermost object inwards, at least one. */
  List<String> path();

  /**
   * Sets a member. If it is missing, it is added at the end, together with missing outer objects.
   *
   * @param within edits applied to {@code value}, which must then be an object
   */
  record Put(List<String> path, RawJson value, List<BodyEdit> within) implements BodyEdit {
    public Put {
      path = checked(path);
      within = List.copyOf(within);
    }
  }

  /** Sets a member if it is present. */
  record Replace(List<String> path, RawJson value) implements BodyEdit {
    public Replace {
      path = checked(path);
    }
  }

  /** Removes a member. */
  record Remove(List<String> path) implements BodyEdit {
    public Remove {
      path = checked(path);
    }
  }

  /**
   * Adds to an integer, but does not lower it below {@code least}. Other values, and integers
   * already below {@code least}, stay unchanged.
   */
  record Add(List<String> path, long amount, long least) implements BodyEdit {
    public Add {
      path = checked(path);
    }
  }

  /** Adds an element at the end of an array; other values stay unchanged. */
  record Extend(List<String> path, RawJson element) implements BodyEdit {
    public Extend {
      path = checked(path);
    }
  }

  static BodyEdit put(RawJson value, String... path) {
    return new Put(List.of(path), value, List.of());
  }

  static BodyEdit replace(RawJson value, String... path) {
    return new Replace(List.of(path), value);
  }

  static BodyEdit remove(String... path) {
    return new Remove(List.of(path));
  }

  static BodyEdit add(long amount, long least, String... path) {
    return new Add(List.of(path), amount, least);
  }

  static BodyEdit extend(RawJson element, String... path) {
    return new Extend(List.of(path), element);
  }

  private static List<String> checked(List<String> path) {
    if (path.isEmpty()) {
      throw new IllegalArgumentException("path: [] (expected: at least one name)");
    }
    return List.copyOf(path);
  }
}
