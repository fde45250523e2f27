package io.pointsman.proxy.body;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.pointsman.request.coding.ContentCoding;
import io.pointsman.request.coding.Decoding;
import io.pointsman.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Decoding on other threads: the result comes to the event loop, and no byte stays counted. */
@Timeout(60)
class BodyDecoderTest {
  private static final String TEXT = "word ".repeat(20_000);

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false, true);
  private final BodyBudget budget = new BodyBudget(1 << 20);
  private final BodyDecoder decoder = new BodyDecoder(budget, 1);
  private final BlockingQueue<Runnable> loop = new LinkedBlockingQueue<>();
  private final BlockingQueue<Object> results = new LinkedBlockingQueue<>();

  private final BodyDecoder.Receiver receiver =
      new BodyDecoder.Receiver() {
        @Override
        public void decoded(Decoding.Result result, @Nullable KeptBody body) {
          results.add(result);
          if (body != null) {
            results.add(new String(body.copy(), UTF_8));
            body.release();
          }
        }

        @Override
        public void failed(Throwable defect) {
          results.add(defect);
        }
      };

  private KeptBody gzip() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(TEXT.getBytes(UTF_8));
    }
    KeptBody body = new KeptBody(allocator, budget);
    body.add(allocator.buffer().writeBytes(bytes.toByteArray()), true);
    return body;
  }

  private void decode(KeptBody body, long most, Executor to) {
    decoder.decode(body, ContentCoding.GZIP, most, allocator, to, receiver);
  }

  private void nothingIsLeft() {
    assertThat(budget.taken()).isZero();
    assertThat(allocator.metric().usedDirectMemory() + allocator.metric().usedHeapMemory())
        .isZero();
  }

  @Test
  void bodyIsPassedOnTheLoop() throws Exception {
    KeptBody body = gzip();
    decode(body, 1 << 20, loop::add);
    body.release(); // the client left
    Runnable end = loop.take();
    assertThat(results).isEmpty();
    end.run();

    assertThat(results).containsExactly(Decoding.Result.COMPLETE, TEXT);
    nothingIsLeft();
  }

  @Test
  void bodiesWithoutAResultAreReleased() throws Exception {
    KeptBody body = gzip();
    decode(body, 1000, loop::add);
    loop.take().run();
    assertThat(budget.take((1 << 20) - 20_000)).isTrue();
    decode(body, 1 << 20, loop::add);
    loop.take().run();
    body.release();
    budget.giveBack((1 << 20) - 20_000);

    assertThat(results).containsExactly(Decoding.Result.TOO_LARGE, Decoding.Result.REFUSED);
    nothingIsLeft();
  }

  @Test
  void nothingIsLeftAfterTheLoop() throws Exception {
    KeptBody body = gzip();
    decode(
        body,
        1 << 20,
        _ -> {
          body.release();
          throw new RejectedExecutionException();
        });
    Await.until("released", () -> budget.taken() == 0);

    nothingIsLeft();
    assertThat(results).isEmpty();
  }

  @Test
  void manyBodiesAreDecodedInTurn() throws Exception {
    KeptBody body = gzip();
    for (int i = 0; i < 5; i++) {
      decode(body, 1 << 20, loop::add);
    }
    for (int i = 0; i < 5; i++) {
      loop.take().run();
    }
    body.release();

    assertThat(results).hasSize(10).doesNotContain(Decoding.Result.REFUSED);
    nothingIsLeft();
  }
}
