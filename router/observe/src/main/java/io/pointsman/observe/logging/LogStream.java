package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/**
 * A stream of the log, such as standard error. A failed write, for example on a full disk, loses
 * its lines and nothing else: Logback would end the output. Belongs to the thread that writes.
 */
final class LogStream implements LogQueue.Output {
  private final OutputStreamAppender<ILoggingEvent> lines;
  private boolean failed;

  /**
   * @param lines has its encoder, and is started here
   * @param out closed with the lines
   */
  LogStream(OutputStreamAppender<ILoggingEvent> lines, OutputStream out) {
    this.lines = lines;
    lines.setImmediateFlush(false);
    lines.setOutputStream(new BufferedOutputStream(new Failing(out), LogQueue.BUFFER));
    lines.start();
  }

  @Override
  public OutputStreamAppender<ILoggingEvent> lines() {
    return lines;
  }

  @Override
  public void prepare() {
    // The stream stays the same.
  }

  @Override
  public int lost(int written) {
    boolean all = failed;
    failed = false;
    return all ? written : 0;
  }

  /** Records failures in place of throwing them. */
  private final class Failing extends OutputStream {
    private final OutputStream out;

    Failing(OutputStream out) {
      this.out = out;
    }

    @Override
    public void write(int b) {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      try {
        out.write(bytes, offset, length);
      } catch (IOException e) {
        failed = true;
      }
    }

    @Override
    public void flush() {
      try {
        out.flush();
      } catch (IOException e) {
        failed = true;
      }
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }
}
