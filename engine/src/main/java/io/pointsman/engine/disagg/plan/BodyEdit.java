package io.pointsman.engine.disagg.plan;

import java.util.List;

/**
 * A change to a JSON object, applied to its bytes: everything that no edit names stays as it came.
 *
 * <p>A path has one name for a member of the object and further ones for members of objects within
 * it. Where a name occurs more than once, every occurrence is edited, because engines differ in
 * which one counts. A path that leads through something that is neither an object nor null changes
 * nothing: the engine will refuse the request, and in the words that it has for it.
 */
public sealed interface BodyEdit {
  /** Where: names from the outermost object inwards, at least one. */
  List<String> path();

  /**
   * Sets a member, which is added at the end if it is missing, with the objects that lead to it.
   *
   * @param within edits applied to {@code value}, which is then an object
   */
  record Put(List<String> path, RawJson value, List<BodyEdit> within) implements BodyEdit {
    public Put {
      path = checked(path);
      within = List.copyOf(within);
    }
  }

  /** Sets a member where it is; does nothing where it is missing. */
  record Replace(List<String> path, RawJson value) implements BodyEdit {
    public Replace {
      path = checked(path);
    }
  }

  /** Takes a member out. */
  record Remove(List<String> path) implements BodyEdit {
    public Remove {
      path = checked(path);
    }
  }

  /**
   * Adds to an integer, which does not become less than {@code least} by it; anything else, a
   * number already below that included, stays.
   */
  record Add(List<String> path, long amount, long least) implements BodyEdit {
    public Add {
      path = checked(path);
    }
  }

  /** Adds an element at the end of an array; anything else stays. */
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
