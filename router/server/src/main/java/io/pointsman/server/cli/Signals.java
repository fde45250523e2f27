package io.pointsman.server.cli;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handlers for signals. The first SIGINT or SIGTERM stops the program, the second ends the process
 * at once; SIGHUP runs an action each time.
 *
 * <p>The JDK's only class for signals causes a compiler warning, so it is used by reflection.
 * Without that class, the JVM's default handling stays.
 */
public final class Signals {
  private static final int ENDED_BY_SIGNAL = 130;

  private Signals() {}

  /** Runs {@code stop} on the first SIGINT or SIGTERM, on a new thread. */
  public static void onFirst(Runnable stop) {
    AtomicInteger count = new AtomicInteger();
    Runnable arrived =
        () -> {
          if (count.getAndIncrement() == 0) {
            Thread.ofPlatform().name("stop").start(stop);
          } else {
            Runtime.getRuntime().halt(ENDED_BY_SIGNAL);
          }
        };
    listen("INT", arrived);
    listen("TERM", arrived);
  }

  /** Runs {@code action} on each SIGHUP, on a new thread. */
  public static void onHangUp(Runnable action) {
    listen("HUP", () -> Thread.ofPlatform().name("hang-up").start(action));
  }

  private static void listen(String name, Runnable arrived) {
    try {
      handle(name, arrived);
    } catch (ReflectiveOperationException | RuntimeException e) {
      LoggerFactory.getLogger(Signals.class).warn("signal {} not handled", name, e);
    }
  }

  @SuppressWarnings("ReferenceEquality") // a proxy equals itself only
  private static void handle(String name, Runnable arrived) throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handler = Class.forName("sun.misc.SignalHandler");
    InvocationHandler calls =
        (proxy, method, args) ->
            switch (method.getName()) {
              case "handle" -> {
                arrived.run();
                yield null;
              }
              case "equals" -> proxy == args[0];
              case "hashCode" -> System.identityHashCode(proxy);
              default -> name;
            };
    Object proxy =
        Proxy.newProxyInstance(Signals.class.getClassLoader(), new Class<?>[] {handler}, calls);
    signal
        .getMethod("handle", signal, handler)
        .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
  }

  /** The signals SIGHUP of a process. Those before the router runs become one reload. */
  static final class HangUps {
    private static final Logger log = LoggerFactory.getLogger(HangUps.class);

    /** Null before the router runs. Guarded by this, like {@link #waits}. */
    private @Nullable Runnable reload;

    private boolean waits;

    /** Handles a signal. */
    void arrived() {
      Runnable now;
      synchronized (this) {
        now = reload;
        waits = now == null;
      }
      if (now != null) {
        run(now);
      }
    }

    /** Runs {@code action} for each signal from here on, and at once if one has arrived before. */
    void reload(Runnable action) {
      boolean now;
      synchronized (this) {
        reload = action;
        now = waits;
        waits = false;
      }
      if (now) {
        run(action);
      }
    }

    /** Logs a failure of the action, and does not pass it on. */
    private static void run(Runnable action) {
      try {
        action.run();
      } catch (RuntimeException | Error e) {
        log.error("SIGHUP: the reload of the configuration failed", e);
      }
    }
  }
}
