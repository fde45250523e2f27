package io.pointsman.tool.replay.random;

/** The times by which policies are compared. */
enum ComparedTime {
  MEAN("mean TTFT"),
  P99("p99 TTFT"),
  END_TO_END("mean e2e");

  private final String title;

  ComparedTime(String title) {
    this.title = title;
  }

  String title() {
    return title;
  }

  double of(Measure measure) {
    return switch (this) {
      case MEAN -> measure.ttftMean();
      case P99 -> measure.ttftP99();
      case END_TO_END -> measure.endToEndMean();
    };
  }
}
