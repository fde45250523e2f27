package io.pointsman.proxy;

/** System interface that reports socket events. */
public enum Transport {
  /** The first of io_uring (Linux 6.12 and later), epoll and NIO that the system supports. */
  AUTO,
  /** Submits and completes operations of many connections in one system call. */
  IO_URING,
  EPOLL,
  NIO
}
