package io.pointsman.control.discovery;

import java.io.IOException;
import java.util.List;

/** Looks names up in DNS. Each lookup blocks, and asks the servers anew. */
public interface DnsLookup extends AutoCloseable {
  /** A {@link Answer#ttlSeconds} that is not known. */
  long UNKNOWN = -1;

  /**
   * A host, with a port if the record names one; otherwise 0.
   *
   * @param host an address without brackets, or a name
   */
  record Target(String host, int port) {}

  /**
   * The records of a name.
   *
   * @param targets empty if there are none
   * @param ttlSeconds time for which the answer is valid, or {@link #UNKNOWN}
   */
  record Answer(List<Target> targets, long ttlSeconds) {
    public Answer {
      targets = List.copyOf(targets);
    }
  }

  /**
   * The addresses of a name.
   *
   * @throws IOException if no server answers the question
   */
  Answer addresses(String name) throws IOException;

  /**
   * The SRV records of a name.
   *
   * @throws IOException if no server answers the question
   */
  Answer services(String name) throws IOException;

  @Override
  void close();
}
