package io.pointsman.testkit;

/** What can happen to the router's own process, by name. */
public enum RouterFault {
  /** Told to stop while 500 streams are under way. */
  TERMINATED_UNDER_STREAMS,
  /** More connections come than descriptors are left. */
  OUT_OF_DESCRIPTORS,
  /** More clients come than are let in, and stay. */
  FLOODED_BY_CLIENTS,
  /** The disk that the log is written to is full. */
  LOG_DISK_FULL,
  /** The disk that requests are captured on is full. */
  CAPTURE_DISK_FULL,
  /** The machine's clock jumps. */
  CLOCK_JUMPS,
  /** The configuration is read anew under load. */
  RELOADED_UNDER_LOAD,
  /** A configuration that cannot be taken over is read. */
  RELOADED_WITH_MISTAKES
}
