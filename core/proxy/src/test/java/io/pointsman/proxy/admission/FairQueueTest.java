package io.pointsman.proxy.admission;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.admission.Admission.Waiter;
import io.pointsman.proxy.identity.Priority;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FairQueueTest {
  private static final List<Priority> PRIORITIES = List.of(Priority.values());

  private final FairQueue queue = new FairQueue();

  private static Waiter waiter(String client, Priority priority, long tokens) {
    return new TestWaiter(new QueuedRequest(client, priority, tokens), () -> {}, () -> {});
  }

  private Waiter add(String client, Priority priority, long tokens) {
    Waiter waiter = waiter(client, priority, tokens);
    queue.add(waiter);
    return waiter;
  }

  private Waiter add(String client) {
    return add(client, Priority.NORMAL, 10);
  }

  private QueuedRequest next() {
    return requireNonNull(queue.next(Priority.LOW)).request();
  }

  @Test
  void requestsOfOneClientKeepTheirOrder() {
    List<Waiter> all = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      all.add(add("a", Priority.NORMAL, 5000));
    }
    for (Waiter each : all) {
      assertThat(queue.next(Priority.LOW)).isSameAs(each);
    }
    assertThat(queue.next(Priority.LOW)).isNull();
  }

  @Test
  void clientsGetEqualTokensAtAnyNumberAndSizeOfRequests() {
    for (int i = 0; i < 2000; i++) {
      add("greedy", Priority.NORMAL, 100);
    }
    for (int i = 0; i < 100; i++) {
      add("polite", Priority.NORMAL, 4000);
    }
    long greedy = 0;
    long polite = 0;
    while (greedy + polite < 200_000) {
      QueuedRequest next = next();
      greedy += next.client().equals("greedy") ? next.tokens() : 0;
      polite += next.client().equals("polite") ? next.tokens() : 0;
      assertThat(Math.abs(greedy - polite)).isLessThanOrEqualTo(4000 + FairQueue.QUANTUM);
    }
  }

  @Test
  void aClientThatComesLaterDoesNotWaitForTheOthersRequests() {
    for (int i = 0; i < 100; i++) {
      add("greedy", Priority.NORMAL, 100);
    }
    for (int i = 0; i < 50; i++) {
      next();
    }
    add("polite", Priority.NORMAL, 100);
    int turn = 1;
    while (!next().client().equals("polite")) {
      turn++;
    }
    assertThat(turn).isLessThanOrEqualTo((int) FairQueue.QUANTUM / 100 + 2);
  }

  @Test
  void tokensOfAnswersCountWhenTheyAreKnown() {
    Waiter first = add("a");
    add("a");
    add("b");
    add("b");
    add("b");
    assertThat(queue.next(Priority.LOW)).isSameAs(first);
    queue.end(first.request(), 10 * FairQueue.QUANTUM);
    assertThat(next().client()).isEqualTo("b");
    assertThat(next().client()).isEqualTo("b");
    assertThat(next().client()).isEqualTo("b");
    assertThat(next().client()).isEqualTo("a");
  }

  @Test
  void aRequestThatEndsWithFewerTokensGivesThemBack() {
    Waiter first = add("a", Priority.NORMAL, 100_000);
    add("a");
    for (int i = 0; i < 5; i++) {
      add("b", Priority.NORMAL, 600);
    }
    queue.next(Priority.LOW);
    queue.end(first.request(), 0);
    assertThat(next().client()).isEqualTo("b");
    assertThat(next().client()).isEqualTo("b");
    assertThat(next().client()).isEqualTo("a");
  }

  @Test
  void useWithoutAQueueIsNoDebt() {
    QueuedRequest busy = new QueuedRequest("old", Priority.NORMAL, 1000);
    queue.begin(busy);
    for (int i = 0; i < 1000; i++) {
      queue.begin(busy);
      queue.end(busy, 50_000);
    }
    for (int i = 0; i < 20; i++) {
      add("old", Priority.NORMAL, 1000);
      add("new", Priority.NORMAL, 1000);
    }
    StringBuilder order = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      order.append(next().client().charAt(0));
    }
    assertThat(order.chars().filter(c -> c == 'o').count()).isBetween(3L, 5L);
  }

  @Test
  void requestsWithoutTokensDoNotKeepTheTurn() {
    for (int i = 0; i < 1000; i++) {
      add("empty", Priority.NORMAL, 0);
    }
    add("usual", Priority.NORMAL, 100);
    int turn = 1;
    while (!next().client().equals("usual")) {
      turn++;
    }
    assertThat(turn).isLessThanOrEqualTo((int) (FairQueue.QUANTUM / FairQueue.LEAST) + 2);
  }

  @Test
  void higherPrioritiesPassButLowerOnesGetOneOfSixteen() {
    for (int i = 0; i < 100; i++) {
      add("l", Priority.LOW, 1);
      add("n", Priority.NORMAL, 1);
      add("h", Priority.HIGH, 1);
    }
    StringBuilder order = new StringBuilder();
    for (int i = 0; i < 36; i++) {
      order.append(next().client());
    }
    assertThat(order).startsWith("h".repeat(15)).doesNotStartWith("h".repeat(16));
    assertThat(order.chars().filter(c -> c == 'l').count()).isEqualTo(2);
    assertThat(order.chars().filter(c -> c == 'n').count()).isEqualTo(2);
  }

  @Test
  void theLastRequestOfTheClientWithMostGivesWay() {
    add("a");
    add("a");
    Waiter last = add("a");
    add("b");
    assertThat(queue.giveWay(new QueuedRequest("b", Priority.NORMAL, 1))).isSameAs(last);
    assertThat(queue.giveWay(new QueuedRequest("b", Priority.NORMAL, 1)))
        .as("both would have the same number")
        .isNull();
    assertThat(queue.giveWay(new QueuedRequest("a", Priority.NORMAL, 1))).isNull();
    assertThat(queue.size()).isEqualTo(3);
  }

  @Test
  void theLowestPriorityGivesWayFirst() {
    add("a", Priority.NORMAL, 1);
    add("a", Priority.NORMAL, 1);
    Waiter low = add("b", Priority.LOW, 1);
    assertThat(queue.giveWay(new QueuedRequest("c", Priority.LOW, 1))).isNull();
    assertThat(queue.giveWay(new QueuedRequest("a", Priority.NORMAL, 1))).isSameAs(low);
    assertThat(queue.giveWay(new QueuedRequest("d", Priority.LOW, 1))).isNull();
    assertThat(requireNonNull(queue.giveWay(new QueuedRequest("a", Priority.HIGH, 1))).request())
        .isEqualTo(new QueuedRequest("a", Priority.NORMAL, 1));
  }

  @Test
  void clientsWithoutRequestsAreForgotten() {
    Waiter quits = add("a");
    Waiter serves = add("b");
    assertThat(queue.remove(quits)).isTrue();
    assertThat(queue.remove(quits)).isFalse();
    assertThat(queue.next(Priority.LOW)).isSameAs(serves);
    assertThat(queue.clients()).isEqualTo(1);
    queue.end(serves.request(), 1000);
    assertThat(queue.clients()).isZero();
  }

  /** Random calls: each request leaves exactly once, and nothing stays behind. */
  @Test
  void noRequestIsLostOrServedTwice() {
    for (int seed = 0; seed < 50; seed++) {
      Random random = new Random(seed);
      Set<Waiter> waiting = new HashSet<>();
      List<Waiter> serving = new ArrayList<>();
      for (int i = 0; i < 2000; i++) {
        String client = "c" + random.nextInt(6);
        Priority priority = PRIORITIES.get(random.nextInt(PRIORITIES.size()));
        switch (random.nextInt(5)) {
          case 0, 1 -> waiting.add(add(client, priority, random.nextInt(9000)));
          case 2 -> left(waiting, serving, queue.next(Priority.LOW));
          case 3 -> {
            Waiter gone = queue.giveWay(new QueuedRequest(client, priority, 1));
            assertThat(gone == null || waiting.remove(gone)).isTrue();
          }
          default -> {
            if (!serving.isEmpty()) {
              Waiter ends = serving.remove(random.nextInt(serving.size()));
              queue.end(ends.request(), random.nextInt(20_000));
            } else if (!waiting.isEmpty()) {
              Waiter quits = waiting.iterator().next();
              waiting.remove(quits);
              assertThat(queue.remove(quits)).isTrue();
            }
          }
        }
        assertThat(queue.size()).isEqualTo(waiting.size());
      }
      while (!queue.isEmpty()) {
        left(waiting, serving, queue.next(Priority.LOW));
      }
      serving.forEach(each -> queue.end(each.request(), 0));
      assertThat(waiting).isEmpty();
      assertThat(queue.clients()).isZero();
    }
  }

  private static void left(Set<Waiter> waiting, List<Waiter> serving, @Nullable Waiter next) {
    if (next == null) {
      assertThat(waiting).isEmpty();
    } else {
      assertThat(waiting.remove(next)).isTrue();
      serving.add(next);
    }
  }
}
