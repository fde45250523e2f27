package io.pointsman.proxy.exchange;

import io.pointsman.request.RequestFacts;

/**
 * The parts of an exchange that its attempts use.
 *
 * @param parts the common parts
 * @param facts the facts of the request
 * @param upload the way of the client's further bytes
 * @param sender the writer of requests to workers
 * @param retries the permission of further attempts
 * @param countsTokens true if a limit of the client or the order of the queue needs the answer's
 *     token counts
 * @param quota the request's place in the limits of its client
 */
record AttemptContext(
    ExchangeParts parts,
    RequestFacts facts,
    Upload upload,
    RequestSender sender,
    Retries retries,
    boolean countsTokens,
    RequestQuota quota) {
  /** True if a limit of the client needs the counts, also of an answer that is not complete. */
  boolean charged() {
    return quota.countsTokens();
  }
}
