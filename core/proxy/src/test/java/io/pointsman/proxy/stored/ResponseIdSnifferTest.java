package io.pointsman.proxy.stored;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.ResponseHead;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The id of a response, in its own place of an answer only. */
class ResponseIdSnifferTest {
  private static final String EVENT = "event: response.created\r\ndata: ";

  private final Worker worker =
      new Fleet(FleetSettings.DEFAULTS, () -> 0).add(WorkerSpec.of("http://10.0.0.1:1"));

  /** The id, if the answer arrives in parts of this size. */
  private @Nullable String id(String answer, int size) {
    String found = id("content-length: " + answer.length(), answer, size);
    String part = Integer.toHexString(answer.length()) + "\r\n" + answer + "\r\n0\r\n\r\n";
    assertThat(id("transfer-encoding: chunked", part, size)).isEqualTo(found);
    return found;
  }

  private @Nullable String id(String framing, String answer, int size) {
    ResponseOwners owners = new ResponseOwners(10, new StoredSearches(1, () -> 0));
    ResponseHead head = new ResponseHead();
    byte[] lines = ("HTTP/1.1 200 OK\r\n" + framing + "\r\n\r\n").getBytes(UTF_8);
    head.parse(lines, lines.length);
    ResponseIdSniffer sniffer = new ResponseIdSniffer(new BodyFraming(head, "POST"));
    ByteBuf all = Unpooled.wrappedBuffer(answer.getBytes(UTF_8));
    AtomicInteger asked = new AtomicInteger();
    Supplier<String> client =
        () -> {
          asked.incrementAndGet();
          return "key/alice";
        };
    while (all.isReadable()) {
      ByteBuf part = all.readSlice(Math.min(size, all.readableBytes()));
      int before = part.readerIndex();
      sniffer.learn(part, worker, owners, client);
      assertThat(part.readerIndex()).isEqualTo(before);
    }
    String found = sniffer.id();
    assertThat(asked)
        .as("the client's name is computed for an id only")
        .hasValue(found == null ? 0 : 1);
    assertThat(found == null || worker.id().equals(owners.owner(found))).isTrue();
    return found;
  }

  static String[] ownPlaces() {
    return new String[] {
      "{\"id\":\"resp_1\",\"output\":[{\"id\":\"msg_1\"}]}",
      " {\"object\":\"response\",\"metadata\":{\"id\":\"forged\"}, \"id\" : \"resp_1\"}",
      "{\"tools\":[{\"id\":\"forged\"}],\"text\":\"\\\"id\\\":\\\"forged\\\"\",\"id\":\"resp_1\"}",
      EVENT + "{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n",
      EVENT + "{\"response\":{\"metadata\":{\"id\":\"forged\"},\"id\":\"resp_1\"}}\n\n",
      EVENT
          + "{\"id\":\"forged\",\"item\":{\"id\":\"forged\"}}\n\n" //
          + "data:{\"response\":{\"id\":\"resp_1\"}}\n\n",
      ": {\"response\":{\"id\":\"forged\"}}\ndata: {\"response\":{\"id\":\"resp_1\"}}\n\n",
      EVENT + "{\"response\":{\"cut\":\"\ndata: {\"response\":{\"id\":\"resp_1\"}}\n\n",
    };
  }

  @ParameterizedTest
  @MethodSource("ownPlaces")
  void theIdInItsOwnPlaceCounts(String answer) {
    for (int size : new int[] {1, 7, 10_000}) {
      assertThat(id(answer, size)).isEqualTo("resp_1");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[{\"id\":\"forged\"}]",
        "{\"response\":{\"id\":\"forged\"}}",
        "{\"output\":[{\"id\":\"forged\"}]}",
        "{\"id\":1,\"output\":[\"id\",\"forged\"]}",
        "{\"id\":\"a\\\"b\"}",
        "{\"id\":\"\"}",
        "{\"metadata\":{}}{\"id\":\"forged\"}",
        "data: {\"id\":\"forged\"}\n\n",
        "data: {\"response\":[{\"id\":\"forged\"}]}\n\n",
        "data: {\"item\":{\"response\":{\"id\":\"forged\"}}}\n\n",
        "data: \"response\":{\"id\":\"forged\"}\n\n",
      })
  void noOtherIdCounts(String answer) {
    for (int size : new int[] {1, 7, 10_000}) {
      assertThat(id(answer, size)).isNull();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 512})
  void idsHaveABound(int length) {
    String longest = "r".repeat(length);
    assertThat(id("{\"id\":\"" + longest + "\"}", 100)).isEqualTo(longest);
    assertThat(id("{\"id\":\"" + "r".repeat(513) + "\"}", 100)).isNull();
    assertThat(id("{\"text\":\"" + "r".repeat(16_384) + "\",\"id\":\"resp_1\"}", 100)).isNull();
  }
}
