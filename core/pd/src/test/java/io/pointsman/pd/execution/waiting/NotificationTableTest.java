package io.pointsman.pd.execution.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NotificationTableTest {
  private final NotificationTable table = new NotificationTable();
  private int completed;

  @Test
  void waitCompletesOnceAtTheLastNotification() {
    Notifications.Expected expected = table.expect("a", 2, () -> completed++);
    assertThat(table.arrived("b")).isFalse();
    assertThat(table.arrived("a")).isTrue();
    assertThat(completed).isZero();
    assertThat(table.arrived("a")).isTrue();
    assertThat(completed).isEqualTo(1);
    assertThat(table.arrived("a")).isFalse();
    assertThat(completed).isEqualTo(1);
    expected.cancel();
    assertThat(table.waiting()).isZero();
  }

  @Test
  void cancelledWaitDoesNotComplete() {
    table.expect("a", 1, () -> completed++).cancel();
    assertThat(table.arrived("a")).isFalse();
    assertThat(completed).isZero();
    assertThat(table.waiting()).isZero();
  }
}
