package io.pointsman.app.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ShortSlicesTest {
  private static final int NICE = 16;

  @Test
  void threadKeepsItsNicenessAndIsGivenTheSliceWhereTheSystemTakesNotice() {
    if (!ShortSlices.available()) {
      return;
    }
    ShortSlices.Calls calls = new ShortSlices.Calls();
    MemorySegment before = told(calls);
    ShortSlices.ask(calls);
    MemorySegment after = told(calls);
    // Before Linux 6.12 a slice is neither told nor taken.
    long slice = before.get(ValueLayout.JAVA_LONG, ShortSlices.Calls.RUNTIME);
    assertThat(after.get(ValueLayout.JAVA_LONG, ShortSlices.Calls.RUNTIME))
        .isEqualTo(slice == 0 ? 0 : ShortSlices.SLICE_NANOS);
    assertThat(after.get(ValueLayout.JAVA_INT, NICE))
        .isEqualTo(before.get(ValueLayout.JAVA_INT, NICE));
    assertThat(after.get(ValueLayout.JAVA_INT, ShortSlices.Calls.POLICY))
        .isEqualTo(before.get(ValueLayout.JAVA_INT, ShortSlices.Calls.POLICY));
  }

  private static MemorySegment told(ShortSlices.Calls calls) {
    MemorySegment attributes = calls.attributes();
    return attributes == null ? fail("sched_getattr: refused") : attributes;
  }
}
