package io.pointsman.proxy;

/** Which of the system's ways of waiting for sockets is used. */
public enum Transport {
  /** The first of io_uring (Linux 6.12 and newer), epoll and NIO that the system allows. */
  AUTO,
  /** Sends and receipts of many connections go to the kernel, and come back, in one call. */
  IO_URING,
  EPOLL,
  NIO
}
