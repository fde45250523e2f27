package io.pointsman.tool.bench.live;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class PredictionTest {
  private static final String METRICS =
      """
      # TYPE pointsman_predicted_ttft_seconds histogram
      pointsman_predicted_ttft_seconds_bucket{kind="measured",le="0.1"} 3
      pointsman_predicted_ttft_seconds_count{kind="predicted"} 4
      pointsman_predicted_ttft_seconds_sum{kind="predicted"} 1.0
      pointsman_predicted_ttft_seconds_count{kind="measured"} 4
      pointsman_predicted_ttft_seconds_sum{kind="measured"} 1.4
      pointsman_ttft_prediction_error_seconds_sum{side="early"} 0.5
      pointsman_ttft_prediction_error_seconds_sum{side="late"} 0.1
      """;

  @Test
  void errorAndBiasComeFromSumsOfEarlyAndLate() {
    Prediction prediction = Prediction.read(METRICS);

    assertThat(prediction.error()).hasValue(0.6 / 4);
    assertThat(prediction.bias()).hasValue((0.1 - 0.5) / 4);
    assertThat(prediction.meanPredicted()).hasValue(0.25);
    assertThat(prediction.meanMeasured()).hasValue(0.35);
  }

  @Test
  void withoutPredictionsErrorIsEmpty() {
    Prediction prediction = Prediction.read(METRICS);

    assertThat(prediction.since(prediction).error()).isEmpty();
    assertThat(Prediction.read("# nothing\n")).isEqualTo(new Prediction(0, 0, 0, 0, 0));
  }
}
