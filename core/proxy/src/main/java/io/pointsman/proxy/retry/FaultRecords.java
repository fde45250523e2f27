package io.pointsman.proxy.retry;

import io.pointsman.engine.env.Ticker;

/** Records of failed requests, shared by all event loops. */
public record FaultRecords(PoisonMemory bodies, FailingClients clients) {
  public FaultRecords(PoisonSettings settings, Ticker ticker) {
    this(new PoisonMemory(settings, ticker), new FailingClients(ticker));
  }
}
