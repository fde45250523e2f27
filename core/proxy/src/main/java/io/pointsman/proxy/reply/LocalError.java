package io.pointsman.proxy.reply;

import java.util.Locale;

/**
 * Errors of the router's own endpoints that have another form than {@link ProxyError}, or that only
 * one group of endpoints has. Statuses and codes are those of the API that the endpoint follows.
 */
public enum LocalError implements ErrorCode {
  // Files and batches, in OpenAI's form.
  MISSING_PARAMETER(400),
  UNSUPPORTED_PARAMETER(400),
  INVALID_FORM(400),
  FILE_IN_USE(409),
  BATCH_FINISHED(409),
  STORAGE_FULL(413),
  TOO_MANY_UPLOADS(429),
  TOO_MANY_BATCHES(429),

  // The worker API of vllm-router: fields error and code, or a text.
  ADD_WORKER_FAILED(400, "ADD_WORKER_FAILED"),
  CHANGE_FAILED(400, "CHANGE_FAILED"),
  DRAIN_FAILED(400, "DRAIN_FAILED"),
  WORKER_FORBIDDEN(403, "WORKER_FORBIDDEN"),
  WORKER_NOT_FOUND(404, "WORKER_NOT_FOUND"),
  ACTION_NOT_FOUND(404, "ACTION_NOT_FOUND"),

  // Texts and documents without a code.
  INVALID_QUERY(400),
  ENGINE_ID_INVALID(400),
  NOT_SUPPORTED(404),
  /** A worker left its state while the call waited for it. */
  UNCORDONED(409),
  RELOAD_REFUSED(409),
  FLUSH_FAILED(500),
  /** An engine failed, or engines answered a control call differently. */
  ENGINE_FAILED(502),
  NOT_READY(503);

  private final int status;
  private final String code;

  LocalError(int status) {
    this.status = status;
    code = name().toLowerCase(Locale.ROOT);
  }

  LocalError(int status, String code) {
    this.status = status;
    this.code = code;
  }

  @Override
  public int status() {
    return status;
  }

  @Override
  public String type() {
    return status < 500 ? "invalid_request_error" : "server_error";
  }

  @Override
  public String code() {
    return code;
  }
}
