package io.pointsman.request.reader;

import io.pointsman.engine.policy.WantedFields;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import io.pointsman.request.coding.BodyCoding;
import io.pointsman.request.coding.ContentCoding;
import io.pointsman.request.coding.Decoding;
import java.io.ByteArrayOutputStream;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A pool of request readers for short-lived threads. Each reader has scratch memory, so the pool
 * keeps up to 16 for reuse. When the pool is empty, a temporary reader is created. Compressed
 * bodies are decoded first, up to 8 MiB.
 */
public final class Readers {
  private static final int KEPT = 16;

  /** Maximum number of decoded bytes. The rest of a body is not read. */
  private static final int MOST_DECODED = 8 << 20;

  private final Supplier<AffinitySettings> affinity;
  private final Supplier<WantedFields> wanted;

  private final ArrayBlockingQueue<Idle> idle = new ArrayBlockingQueue<>(KEPT);

  /** Readers without fields for policies. */
  public Readers(AffinitySettings affinity) {
    this(() -> affinity, () -> WantedFields.NONE);
  }

  /**
   * @param affinity headers and fields that identify sessions; may change
   * @param wanted fields that policies read; may change
   */
  public Readers(Supplier<AffinitySettings> affinity, Supplier<WantedFields> wanted) {
    this.affinity = affinity;
    this.wanted = wanted;
  }

  /** Reads one request; see {@link RequestReader#read}. Decodes a compressed body first. */
  public RequestFacts read(
      Endpoint endpoint,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    ContentCoding coding = endpoint.readsBody() ? BodyCoding.of(headers).known() : null;
    if (coding == null || length == 0) {
      return readPlain(endpoint, headers, body, offset, length, truncated);
    }
    ByteArrayOutputStream plain = new ByteArrayOutputStream();
    Decoding.Result result =
        Decoding.decode(
            coding, body, offset, length, MOST_DECODED, (part, size) -> append(plain, part, size));
    if (plain.size() == 0) {
      return readPlain(endpoint, headers, body, offset, length, truncated);
    }
    boolean cut = truncated || result != Decoding.Result.COMPLETE;
    byte[] bytes = plain.toByteArray();
    return readDecoded(endpoint, headers, bytes, 0, bytes.length, cut);
  }

  private static boolean append(ByteArrayOutputStream to, byte[] part, int size) {
    to.write(part, 0, size);
    return true;
  }

  /**
   * Reads one request with a body that was decoded already. Its {@code Content-Encoding} is
   * ignored.
   */
  public RequestFacts readDecoded(
      Endpoint endpoint,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    return readPlain(endpoint, new Decoded(headers), body, offset, length, truncated);
  }

  private RequestFacts readPlain(
      Endpoint endpoint,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    Reads now = new Reads(affinity.get(), wanted.get());
    Idle lent = idle.poll();
    RequestReader reader =
        lent != null && now.same(lent.reads)
            ? lent.reader
            : new RequestReader(now.affinity, now.wanted);
    RequestFacts facts = reader.read(endpoint, headers, body, offset, length, truncated);
    idle.offer(new Idle(reader, now));
    return facts;
  }

  /** A reader that is not lent, and its settings. */
  private record Idle(RequestReader reader, Reads reads) {}

  /** The settings of a reader. */
  private record Reads(AffinitySettings affinity, WantedFields wanted) {
    @SuppressWarnings("ReferenceEquality") // settings are replaced as a whole
    boolean same(Reads other) {
      return affinity == other.affinity && wanted == other.wanted;
    }
  }

  /** The headers of a body after its decoding. */
  private record Decoded(RequestHeaders headers) implements RequestHeaders {
    @Override
    public @Nullable String first(String lowerCaseName) {
      return lowerCaseName.equals(BodyCoding.HEADER) ? null : headers.first(lowerCaseName);
    }

    @Override
    public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
      headers.forEach(
          (name, value) -> {
            if (!BodyCoding.HEADER.equalsIgnoreCase(name.toString())) {
              each.accept(name, value);
            }
          });
    }
  }
}
