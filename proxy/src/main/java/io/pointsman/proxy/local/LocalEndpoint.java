package io.pointsman.proxy.local;

/**
 * An endpoint that the router answers itself. Called on a virtual thread, so it may block; what it
 * throws becomes a 500.
 */
@FunctionalInterface
public interface LocalEndpoint {
  LocalResponse handle(LocalRequest request) throws Exception;
}
