package io.pointsman.proxy.telemetry;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.request.Endpoint;

/**
 * A client's request, as its head describes it.
 *
 * @param uri path with query string, unchanged
 * @param id value of the answer's header {@code x-request-id}
 * @param identity the client that sent the request
 * @param client address of the client without its port; {@code unknown} if it has none
 * @param admin true if the request came to the admin listener
 */
public record ClientRequest(
    Endpoint endpoint,
    String method,
    String uri,
    String id,
    ClientIdentity identity,
    String client,
    boolean admin) {}
