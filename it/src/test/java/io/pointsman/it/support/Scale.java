package io.pointsman.it.support;

/** How large the scenarios are: small enough for every build, or as large as they are stated. */
public final class Scale {
  private static final boolean FULL = Boolean.getBoolean("pointsman.full");

  private Scale() {}

  /** Whether {@code -Dpointsman.full=true} was given. */
  public static boolean full() {
    return FULL;
  }

  /** One of two sizes. */
  public static int of(int inEveryBuild, int full) {
    return FULL ? full : inEveryBuild;
  }

  /** Tells a measured figure to whoever reads the build's output. */
  public static void report(String scenario, String figures) {
    System.out.println("[" + scenario + "] " + figures);
  }
}
