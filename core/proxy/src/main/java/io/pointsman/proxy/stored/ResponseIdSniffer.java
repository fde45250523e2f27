package io.pointsman.proxy.stored;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Worker;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the id of a new response, at the start of a relayed answer. The id is in the response
 * object, or in the first event of a stream. It reads at most 16 KiB.
 */
public final class ResponseIdSniffer {
  private static final int MOST_BYTES = 16_384;

  /**
   * Maximum length of an id in characters. Ids that the router generated are long if they contain
   * the addresses of two engines.
   */
  private static final int LONGEST = 512;

  /** The id is the first member of the object, so it is the first "id" in both forms. */
  private static final Pattern ID = Pattern.compile("\"id\"\\s*:\\s*\"([^\"\\\\]*)[\"\\\\]");

  private final StringBuilder seen = new StringBuilder();
  private boolean done;
  private @Nullable String id;

  /**
   * Records {@code by} as the owner of the response, once {@code bytes} complete the id.
   *
   * @return true if nothing more can be learned
   */
  public boolean learn(ByteBuf bytes, Worker by, ResponseOwners owners) {
    String found = sniff(bytes);
    if (found != null) {
      id = found;
      owners.learn(found, by.id());
    }
    return done;
  }

  /** The id of the response; null before it was read. */
  public @Nullable String id() {
    return id;
  }

  /** The id, once, when {@code bytes} complete it; otherwise null. */
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
