package io.pointsman.observe.activity;

/**
 * Figures of one worker or of the fleet over a time.
 *
 * @param seconds length of the time
 * @param placed requests that were placed
 * @param ended requests that ended; only for the fleet
 * @param errors those of them with an error that was not the client's
 * @param tokens tokens of responses that ended
 * @param predictedHits share of prompt tokens that the policy expected in caches; NaN if unknown
 * @param reportedHits share of prompt tokens that engines found in caches; NaN if unknown
 * @param firstTokenP50 median time to first token of streams in milliseconds; NaN without streams
 * @param firstTokenP99 its 99th percentile
 */
public record Figures(
    double seconds,
    long placed,
    long ended,
    long errors,
    long tokens,
    double predictedHits,
    double reportedHits,
    double firstTokenP50,
    double firstTokenP99) {
  /** No requests. */
  static final Figures NONE =
      new Figures(0, 0, 0, 0, 0, Double.NaN, Double.NaN, Double.NaN, Double.NaN);

  /** A sum as a rate per second. */
  public double perSecond(long sum) {
    return seconds <= 0 ? 0 : sum / seconds;
  }
}
