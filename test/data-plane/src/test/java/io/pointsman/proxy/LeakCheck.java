package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a class with a test that lost a buffer. The trace of a leak names the test. JUnit finds
 * this extension by {@code META-INF/services}. One check takes two collections of garbage, so there
 * is one for each class.
 */
public final class LeakCheck implements AfterAllCallback {
  @Override
  public void afterAll(ExtensionContext context) {
    if (BufferLeaks.due()) {
      assertThat(BufferLeaks.found()).isEmpty();
    }
  }
}
