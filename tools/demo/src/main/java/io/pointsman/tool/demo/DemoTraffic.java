package io.pointsman.tool.demo;

import io.pointsman.engine.env.RandomSource;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Chat requests at random times, each on its own virtual thread. */
final class DemoTraffic implements AutoCloseable {
  /** Maximum number of concurrent requests; the traffic then waits, to spare a stuck fleet. */
  private static final int MOST_AT_ONCE = 512;

  private static final Duration WARM_UP = Duration.ofSeconds(3);
  private static final int CERTAIN = 1 << 24;

  private final String model;
  private final double rate;
  private final DemoChats conversations;
  private final ChatClient client;
  private final Readings readings;
  private final RandomSource random;
  private final Semaphore places = new Semaphore(MOST_AT_ONCE);
  private final CountDownLatch closed = new CountDownLatch(1);

  /**
   * @param rate mean requests per second
   */
  DemoTraffic(
      String model, double rate, ChatClient client, Readings readings, RandomSource random) {
    this.model = model;
    this.rate = rate;
    this.client = client;
    this.readings = readings;
    this.random = random;
    conversations = new DemoChats(random);
  }

  /**
   * Sends several short chats concurrently and waits for their responses. Later measurements then
   * exclude the warm-up of the JVM.
   */
  void warmUp(int requests) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < requests; i++) {
      Chat chat = new Chat("warm-up", "Warm-up " + i);
      chat.say("user", "Hello");
      threads.add(Thread.startVirtualThread(() -> sendUncounted(chat)));
    }
    for (Thread thread : threads) {
      thread.join(WARM_UP);
    }
  }

  private void sendUncounted(Chat chat) {
    try {
      client.send(chat.request(model, 4));
    } catch (IOException _) {
      // A persistent failure appears again later and is counted then.
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  DemoTraffic start() {
    Thread.ofVirtual().name("demo-traffic").start(this::run);
    return this;
  }

  private void run() {
    try {
      while (!closed.await(gapNanos(), TimeUnit.NANOSECONDS)) {
        places.acquire();
        Thread.startVirtualThread(this::chat);
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Time to the next request, exponentially distributed like arrivals of independent users. */
  private long gapNanos() {
    double chance = (random.roll(CERTAIN) + 1.0) / CERTAIN;
    return (long) (-Math.log(chance) / rate * 1e9);
  }

  private void chat() {
    try {
      Chat chat = conversations.speak();
      ChatClient.Answer answer = client.send(chat.request(model, 16 + random.roll(64)));
      readings.answered(answer.worker(), answer.ttftNanos());
      conversations.answered(chat, answer.text());
    } catch (IOException _) {
      if (closed.getCount() > 0) {
        readings.failed();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      places.release();
    }
  }

  /** Stops the traffic and aborts requests in progress. */
  @Override
  public void close() {
    closed.countDown();
    client.close();
  }
}
