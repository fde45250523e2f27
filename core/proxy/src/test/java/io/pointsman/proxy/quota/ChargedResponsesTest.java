package io.pointsman.proxy.quota;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ChargedResponsesTest {
  private final ChargedResponses charged = new ChargedResponses();

  @Test
  void aResponseIsChargedOnce() {
    assertThat(charged.first("a")).isTrue();
    assertThat(charged.first("a")).isFalse();
    assertThat(charged.first("b")).isTrue();
  }

  @Test
  void theTableIsBoundedAndKeepsThoseInUse() {
    charged.first("first");
    charged.first("second");
    for (int i = 0; i < ChargedResponses.MOST - 1; i++) {
      charged.first("first");
      charged.first("r" + i);
    }
    assertThat(charged.first("first")).isFalse();
    assertThat(charged.first("second")).isTrue();
  }

  @Test
  void anIdOfAnyLengthIsNotKept() {
    String longest = "r".repeat(513);
    assertThat(charged.first(longest)).isTrue();
    assertThat(charged.first(longest)).isTrue();
  }
}
