package io.pointsman.control.health;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

/** Resolves host names with a time limit, for virtual threads. */
public final class HostNames {
  /** A numeric address, which needs no lookup. */
  private static final Pattern LITERAL = Pattern.compile("[0-9.]+|.*:.*");

  private HostNames() {}

  /**
   * True for a numeric address, which needs no lookup.
   *
   * @param name host name or address; IPv6 without brackets
   */
  public static boolean isAddress(String name) {
    return LITERAL.matcher(name).matches();
  }

  /**
   * The addresses of a host, at least one. The system's lookup has no deadline; it runs on its own
   * platform thread, which is abandoned after the limit.
   *
   * @param name host name or address; IPv6 without brackets
   * @param millis maximum wait in milliseconds
   * @throws IOException if there is no address, or none in time
   */
  public static InetAddress[] addresses(String name, int millis) throws IOException {
    if (isAddress(name)) {
      return InetAddress.getAllByName(name);
    }
    FutureTask<InetAddress[]> lookUp = new FutureTask<>(() -> InetAddress.getAllByName(name));
    Thread.ofPlatform().daemon().name("pointsman-name").start(lookUp);
    try {
      return lookUp.get(millis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new SocketTimeoutException(name + ": the DNS lookup takes too long");
    } catch (ExecutionException e) {
      throw new IOException(name + ": " + e.getCause(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(name + ": DNS lookup interrupted");
    }
  }
}
