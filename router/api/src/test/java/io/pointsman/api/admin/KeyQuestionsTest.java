package io.pointsman.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.AuthSettings;
import io.pointsman.proxy.local.CallerCheck.Verdict;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Concurrent queries about clients' keys. */
@Timeout(60)
class KeyQuestionsTest {
  private final AtomicInteger asked = new AtomicInteger();
  private final CountDownLatch answer = new CountDownLatch(1);
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final KeyValidation keys =
      new KeyValidation(
          new AuthSettings(List.of("http://one"), Duration.ofSeconds(60)),
          this::confirmed,
          new FakeClock()::nanos);

  private KeyValidation.Answer confirmed(String url, String key) {
    asked.incrementAndGet();
    try {
      answer.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return key.startsWith("valid") ? KeyValidation.Answer.CONFIRMED : KeyValidation.Answer.REFUSED;
  }

  private Future<Verdict> ask(String key) {
    return threads.submit(() -> keys.ask("Bearer " + key));
  }

  private void awaitAsked(int questions) {
    Await.until(questions + " questions", () -> asked.get() == questions);
  }

  @AfterEach
  void close() {
    answer.countDown();
    threads.close();
  }

  @Test
  void requestsWithOneKeyShareOneQuestion() throws Exception {
    List<Future<Verdict>> all = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      all.add(ask("valid"));
    }
    awaitAsked(1);
    answer.countDown();
    for (Future<Verdict> each : all) {
      assertThat(each.get()).isEqualTo(Verdict.ADMITTED);
    }
    assertThat(asked).hasValue(1);
  }

  @Test
  void concurrentQueriesAreLimited() throws Exception {
    List<Future<Verdict>> all = new ArrayList<>();
    for (int i = 0; i < KeyValidation.MOST_QUESTIONS; i++) {
      all.add(ask("valid-" + i));
    }
    awaitAsked(KeyValidation.MOST_QUESTIONS);

    assertThat(keys.ask("Bearer one-more")).isEqualTo(Verdict.UNKNOWN);
    Future<Verdict> joined = ask("valid-0");
    answer.countDown();
    for (Future<Verdict> each : all) {
      assertThat(each.get()).isEqualTo(Verdict.ADMITTED);
    }
    assertThat(joined.get()).isEqualTo(Verdict.ADMITTED);
    assertThat(keys.ask("Bearer one-more")).isEqualTo(Verdict.REFUSED);
  }
}
