package io.pointsman.tool.bench.jmh;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Time to read a request body into routing facts: scan, hash, chain. Use the median: other load on
 * the machine affects it little.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class ReadChatBody {
  /** Approximate size of the body in bytes. */
  @Param({"2048", "32768", "225280"})
  public int size;

  /**
   * Content: one long message, a conversation of many short messages, code with many quotes, or
   * token ids.
   */
  @Param({"prose", "turns", "code", "ids"})
  public String kind = "";

  private final RequestReader reader = new RequestReader(AffinitySettings.DEFAULT);
  private byte[] body = {};

  @Setup
  public void prepare() {
    String text =
        switch (kind) {
          case "prose" -> messages(size, "The quick brown fox jumps over the lazy dog.\\n");
          case "turns" -> messages(400, "The quick brown fox jumps over the lazy dog.\\n");
          case "code" ->
              messages(size, "  log.info(\\\"value\\\", x);\\n  if (a < b) { return; }\\n");
          case "ids" -> ids();
          default -> throw new IllegalArgumentException(kind);
        };
    body = text.getBytes(UTF_8);
  }

  @Benchmark
  public RequestFacts read() {
    Endpoint endpoint = kind.equals("ids") ? Endpoint.COMPLETIONS : Endpoint.CHAT_COMPLETIONS;
    return reader.read(endpoint, NoHeaders.NONE, body, 0, body.length, false);
  }

  private String messages(int each, String line) {
    String content = line.repeat(Math.max(1, each / line.length()));
    String message = "{\"role\":\"user\",\"content\":\"" + content + "\"}";
    int count = Math.max(1, size / message.length());
    return "{\"model\":\"llama\",\"messages\":["
        + (message + ",").repeat(count - 1)
        + message
        + "],\"temperature\":0.7,\"max_tokens\":256,\"stream\":true}";
  }

  private String ids() {
    StringBuilder body = new StringBuilder("{\"model\":\"llama\",\"prompt\":[");
    for (int id = 17; body.length() < size; id = (id * 7919 + 13) % 128_000) {
      body.append(id).append(", ");
    }
    return body.append("1],\"max_tokens\":256}").toString();
  }

  private enum NoHeaders implements RequestHeaders {
    NONE;

    @Override
    public @Nullable String first(String lowerCaseName) {
      return null;
    }

    @Override
    public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {}
  }
}
