package io.pointsman.app.health;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

/** Looks up names of hosts within a time, for control work on virtual threads. */
public final class HostNames {
  /** An address in digits, which needs no look-up. */
  private static final Pattern LITERAL = Pattern.compile("[0-9.]+|.*:.*");

  private HostNames() {}

  /**
   * Whether it is an address in digits, which nobody is asked for.
   *
   * @param name of IPv6 without brackets
   */
  public static boolean isAddress(String name) {
    return LITERAL.matcher(name).matches();
  }

  /**
   * The addresses of a host, one at least. The system's look-up knows no deadline, so it is left
   * alone on a thread of its own.
   *
   * @param name of IPv6 without brackets
   * @param millis how long to wait
   * @throws IOException if there is none, or not in time
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
