package io.pointsman.testkit;

/** Faults of the router's process and its machine, by name. */
public enum RouterFault {
  /** The router gets SIGTERM while 500 streams are active. */
  TERMINATED_UNDER_STREAMS,
  /** More connections arrive than descriptors are available. */
  OUT_OF_DESCRIPTORS,
  /** More clients connect and stay than the limit admits. */
  FLOODED_BY_CLIENTS,
  /** The disk for the log is full. */
  LOG_DISK_FULL,
  /** The disk for captured requests is full. */
  CAPTURE_DISK_FULL,
  /** The machine's clock jumps. */
  CLOCK_JUMPS,
  /** The configuration is reloaded under load. */
  RELOADED_UNDER_LOAD,
  /** An invalid configuration is reloaded. */
  RELOADED_WITH_MISTAKES
}
