package io.pointsman.it.support;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.LoggerFactory;

/**
 * Listens to the log for signs of a defect: an error, a failed assertion such as a lease settled
 * twice, a buffer released twice or never.
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
    boolean defect =
        event.getLevel().isGreaterOrEqual(Level.ERROR)
            || event.getFormattedMessage().contains("LEAK")
            || (thrown != null && DEFECTS.contains(thrown.getClassName()));
    if (defect && found.size() < MOST) {
      String cause = thrown == null ? "" : " " + thrown.getClassName() + ": " + thrown.getMessage();
      found.add(event.getLoggerName() + ": " + event.getFormattedMessage() + cause);
    }
  }

  public void verify() {
    if (!found.isEmpty()) {
      throw new AssertionError("log: " + List.copyOf(found) + " (expected: no sign of a defect)");
    }
  }

  @Override
  public void close() {
    root.detachAppender(this);
    stop();
  }
}
