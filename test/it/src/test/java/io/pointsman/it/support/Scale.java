package io.pointsman.it.support;

/** The size of the scenarios: small for every build, or full. */
public final class Scale {
  private static final boolean FULL = Boolean.getBoolean("pointsman.full");

  private Scale() {}

  /** True with {@code -Dpointsman.full=true}. */
  public static boolean full() {
    return FULL;
  }

  /** Selects one of two sizes. */
  public static int of(int inEveryBuild, int full) {
    return FULL ? full : inEveryBuild;
  }

  /** Prints a measured value to the build's output. */
  public static void report(String scenario, String figures) {
    System.out.println("[" + scenario + "] " + figures);
  }
}
