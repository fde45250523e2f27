package io.pointsman.proxy.wire;

/**
 * A header of a request to a worker; it replaces one with the same name.
 *
 * @param name in lower case
 */
public record Header(String name, String value) {
  public static final String REQUEST_ID = "x-request-id";
  public static final String RANK = "x-data-parallel-rank";
}
