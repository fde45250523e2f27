package io.pointsman.proxy.reply;

/**
 * A refusal or failure that a client of the router can get. Only the enums of this interface choose
 * statuses of errors; answers take theirs from a constant.
 */
public sealed interface ErrorCode permits ProxyError, LocalError {
  /** HTTP status of the answer; 400 to 599. */
  int status();

  /** Type in OpenAI's error object. */
  String type();

  /** Code in the error object. */
  String code();
}
