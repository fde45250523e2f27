package io.pointsman.tool.bench.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.split.DelayRun.Route;
import io.pointsman.tool.bench.split.OverlapRun.Order;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class PdDelayTest {
  /** One response with a token every 10 ms, the first at {@code first} ms. */
  private static List<Timed> steady(double first) {
    return List.of(new Timed(first, List.of(first, first + 10, first + 20, first + 30)));
  }

  private static Map<Route, List<Timed>> delays(List<Timed> split, List<Timed> whole) {
    Map<Route, List<Timed>> delays = new EnumMap<>(Route.class);
    delays.put(Route.SPLIT_BY_HAND, steady(100));
    delays.put(Route.SPLIT_ROUTED, split);
    delays.put(Route.WHOLE_DIRECT, steady(20));
    delays.put(Route.WHOLE_ROUTED, whole);
    return delays;
  }

  @Test
  void theAddedDelayIsTheWorstOfFirstBytesAndChunks() {
    assertThat(PdDelay.adds(delays(steady(102), steady(21)), 10)).isEqualTo(2);
    assertThat(PdDelay.adds(delays(steady(102), steady(35)), 10)).isEqualTo(15);
    List<Timed> allAtTheEnd = List.of(new Timed(100, List.of(130.0, 130.0, 130.0, 130.0)));
    assertThat(PdDelay.adds(delays(allAtTheEnd, steady(20)), 10)).isEqualTo(20);
  }

  @Test
  void tokenDelaysAreRelativeToTheEarliestToken() {
    Timed held = new Timed(100, List.of(115.0, 115.0, 120.0, 137.0));
    assertThat(held.late(10)).containsExactly(15.0, 5.0, 0.0, 7.0);
  }

  @Test
  void theCheckNeedsHalfOfTheWaitHidden() {
    assertThat(PdDelay.hides(orders(110, 170), 60)).isTrue();
    assertThat(PdDelay.hides(orders(145, 170), 60)).isFalse();
    assertThat(PdDelay.hides(orders(170, 170), 0)).isFalse();
    assertThat(PdDelay.hides(orders(171, 170), 60)).isFalse();
    for (Order one : ROUTED_AT_ONCE) {
      Map<Order, List<Timed>> orders = orders(110, 170);
      orders.put(one, steady(145));
      assertThat(PdDelay.hides(orders, 60)).as(one.label()).isFalse();
    }
  }

  private static final List<Order> ROUTED_AT_ONCE =
      List.of(Order.MOONCAKE_ROUTED, Order.NIXL_PUSH_ROUTED, Order.MORIIO_WRITE_ROUTED);

  private static Map<Order, List<Timed>> orders(double atOnce, double inTurn) {
    Map<Order, List<Timed>> orders = new EnumMap<>(Order.class);
    for (Order one : ROUTED_AT_ONCE) {
      orders.put(one, steady(atOnce));
      orders.put(one.inTurn(), steady(inTurn));
    }
    return orders;
  }

  private static <K> List<Double> first(Map<K, List<Timed>> answers, K key) {
    return Turns.first(answers.getOrDefault(key, List.of()));
  }

  /**
   * A small run. The runs themselves check the engines' requests; here only times that engines set
   * are checked.
   */
  @Test
  @Tag("full")
  void everyWayGivesWholeAnswersThatAreNotFasterThanTheEngines() throws Exception {
    DelayOptions options = new DelayOptions(2, 1, 256, 4, 5_000, 5, 40);
    Map<Route, List<Timed>> delays = DelayRun.of(options);
    assertThat(delays).containsOnlyKeys(Route.values());
    delays.forEach(
        (route, answers) -> {
          assertThat(answers).as(route.label()).hasSize(2);
          assertThat(answers).allSatisfy(each -> assertThat(each.tokenMillis()).hasSize(4));
        });
    double prefill = 256 / 5.0;
    assertThat(first(delays, Route.SPLIT_ROUTED)).allMatch(first -> first >= prefill);
    assertThat(first(delays, Route.SPLIT_BY_HAND)).allMatch(first -> first >= prefill);

    Map<Order, List<Timed>> orders = OverlapRun.of(options);
    assertThat(orders).containsOnlyKeys(Order.values());
    orders.forEach((order, answers) -> assertThat(answers).as(order.label()).hasSize(2));
    for (Order order : ROUTED_AT_ONCE) {
      assertThat(first(orders, order)).as(order.label()).allMatch(first -> first >= prefill);
      assertThat(first(orders, order.inTurn()))
          .as(order.inTurn().label())
          .allMatch(first -> first >= prefill + 40);
    }
  }
}
