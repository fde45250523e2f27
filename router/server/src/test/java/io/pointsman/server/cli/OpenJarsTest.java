package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class OpenJarsTest {
  @Test
  void everyResourceExists() {
    assertThat(OpenJars.open()).isEmpty();
  }
}
