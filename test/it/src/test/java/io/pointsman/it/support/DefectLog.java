package io.pointsman.it.support;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Detects defects in the log: errors, failed assertions, null dereferences, leases settled twice,
 * and buffers released twice or never. Netty reports a lost buffer of one place once per process.
 * All later verifications therefore fail too, also those of a repeated test.
 */
public final class DefectLog extends AppenderBase<ILoggingEvent> implements AutoCloseable {
  private static final int MOST = 20;
  private static final Set<String> DEFECTS =
      Set.of(
          "java.lang.AssertionError",
          "java.lang.NullPointerException",
          "java.lang.ClassCastException",
          "java.lang.IllegalStateException",
          "java.lang.IndexOutOfBoundsException",
          "java.lang.OutOfMemoryError",
          "io.netty.util.IllegalReferenceCountException");

  /** Reports of lost buffers in any log. */
  private static final Queue<String> LEAKS = new ConcurrentLinkedQueue<>();

  private final Queue<String> found = new ConcurrentLinkedQueue<>();
  private final Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);

  private DefectLog() {}

  public static DefectLog attach() {
    DefectLog log = new DefectLog();
    log.setContext(log.root.getLoggerContext());
    log.start();
    log.root.addAppender(log);
    if (!log.root.isWarnEnabled()) {
      log.root.setLevel(Level.WARN);
    }
    return log;
  }

  @Override
  protected void append(ILoggingEvent event) {
    IThrowableProxy thrown = event.getThrowableProxy();
    if (event.getFormattedMessage().contains("LEAK")) {
      add(LEAKS, event, thrown);
      return;
    }
    boolean defect =
        event.getLevel().isGreaterOrEqual(Level.ERROR)
            || (thrown != null && DEFECTS.contains(thrown.getClassName()));
    if (defect) {
      add(found, event, thrown);
    }
  }

  private static void add(Queue<String> to, ILoggingEvent event, @Nullable IThrowableProxy thrown) {
    if (to.size() < MOST) {
      String cause = thrown == null ? "" : " " + thrown.getClassName() + ": " + thrown.getMessage();
      to.add(event.getLoggerName() + ": " + event.getFormattedMessage() + cause);
    }
  }

  public void verify() {
    List<String> all = new ArrayList<>(found);
    all.addAll(LEAKS);
    if (!all.isEmpty()) {
      throw new AssertionError("log: " + all + " (expected: no sign of a defect)");
    }
  }

  /** Discards the reports, for a test that loses a buffer on purpose. */
  public static void forgetLostBuffers() {
    LEAKS.clear();
  }

  @Override
  public void close() {
    root.detachAppender(this);
    stop();
  }
}
