package io.pointsman.config.value;

/** The workers behind a host name with several addresses. */
public enum Resolve {
  /** The name is one worker; its requests use all addresses. */
  ONE,
  /** Each address is a worker. */
  ALL;

  /** Label of a worker with a mode of its own, or with a name for several workers. */
  public static final String LABEL = "resolve";
}
