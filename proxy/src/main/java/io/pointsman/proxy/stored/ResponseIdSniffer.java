package io.pointsman.proxy.stored;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Worker;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the id of a new response off the beginning of its answer, as it passes: from the object
 * itself, or from the first event of a stream. Looks at a bounded number of bytes, then gives up.
 */
public final class ResponseIdSniffer {
  private static final int MOST_BYTES = 16_384;

  /** Engines whose ids the router has made, with addresses of two of them in it, have long ones. */
  private static final int LONGEST = 512;

  /** The id is the first member of the object: in both forms the first "id" there is. */
  private static final Pattern ID = Pattern.compile("\"id\"\\s*:\\s*\"([^\"\\\\]*)[\"\\\\]");

  private final StringBuilder seen = new StringBuilder();
  private boolean done;

  /**
   * Notes that {@code by} keeps the response, once {@code bytes} complete its id.
   *
   * @return whether there is nothing more to be learnt
   */
  public boolean learn(ByteBuf bytes, Worker by, ResponseOwners owners) {
    String id = sniff(bytes);
    if (id != null) {
      owners.learn(id, by.id());
    }
    return done;
  }

  /** The id, once, when {@code bytes} complete it; null before, after, or if there is none. */
  private @Nullable String sniff(ByteBuf bytes) {
    if (done) {
      return null;
    }
    int length = Math.min(bytes.readableBytes(), MOST_BYTES - seen.length());
    seen.append(bytes.toString(bytes.readerIndex(), length, StandardCharsets.ISO_8859_1));
    Matcher found = ID.matcher(seen);
    boolean hit = found.find();
    done = hit || seen.length() >= MOST_BYTES;
    String id = hit ? found.group(1) : "";
    return id.isEmpty() || id.length() > LONGEST ? null : id;
  }
}
