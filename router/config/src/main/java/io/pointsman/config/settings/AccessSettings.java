package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * Settings of the admin listener, and of the paths that clients can use.
 *
 * @param host address of the admin listener
 * @param port its port; 0: any free port
 * @param orAnyPort true if another port may be used because {@code port} is in use
 * @param tls TLS of the admin listener
 * @param adminKey key for all admin paths; empty: none is needed
 * @param planeKey key of proxies that ask for decisions; empty: none is needed
 * @param names host names of the listener, besides local ones and addresses
 * @param onClientPort true if the client port serves the admin paths too
 * @param insecure true if a listener that others reach may be without a key
 * @param workerNetworks hosts of workers that may be added at run time
 * @param keyOrigins URLs of such workers that get the engines' key
 * @param allowedPaths the only paths for clients; empty: all that are not closed
 */
@RecordBuilder
public record AccessSettings(
    String host,
    int port,
    boolean orAnyPort,
    ServerTlsSettings tls,
    String adminKey,
    String planeKey,
    List<String> names,
    boolean onClientPort,
    boolean insecure,
    List<String> workerNetworks,
    List<String> keyOrigins,
    List<String> allowedPaths)
    implements AccessSettingsBuilder.With {
  /** Item of {@link #allowedPaths} that stands for the paths of the API. */
  public static final String API = "api";

  public static final AccessSettings DEFAULTS =
      new AccessSettings(
          "127.0.0.1",
          29_001,
          true,
          ServerTlsSettings.OFF,
          "",
          "",
          List.of(),
          false,
          false,
          WorkerNetworks.STANDARD,
          List.of(),
          List.of());

  private static final int LONGEST_KEY = 4096;

  public AccessSettings {
    if (host.isBlank()) {
      throw new IllegalArgumentException("host: blank (expected: an address or a name)");
    }
    requireNonNull(tls, "tls");
    checkKey("apiKey", adminKey);
    checkKey("decide.api-key", planeKey);
    if (!adminKey.isEmpty() && adminKey.equals(planeKey)) {
      throw new IllegalArgumentException("apiKey: equal to decide.api-key (expected: another key)");
    }
    names = List.copyOf(names);
    workerNetworks = List.copyOf(workerNetworks);
    WorkerNetworks _ = new WorkerNetworks(workerNetworks);
    keyOrigins = List.copyOf(keyOrigins);
    for (String url : keyOrigins) {
      String problem = WorkerSpec.problemOfUrl(url);
      if (problem != null) {
        throw new IllegalArgumentException(
            "api-key-origins: "
                + WorkerSpec.shown(url)
                + ": "
                + problem
                + " (expected: http://host:port)");
      }
    }
    allowedPaths = List.copyOf(allowedPaths);
    for (String path : allowedPaths) {
      if (!path.equals(API) && !path.startsWith("/")) {
        throw new IllegalArgumentException(
            "paths.allow: " + path + " (expected: api, /path or /path/*)");
      }
    }
  }

  /** True if all callers of the admin listener need a certificate. */
  public boolean mutualTls() {
    return tls.enabled()
        && !tls.clientCaFile().isEmpty()
        && tls.clientCertificates() == ClientCertificates.REQUIRED;
  }

  private static void checkKey(String name, String key) {
    requireNonNull(key, name);
    boolean printable = key.chars().allMatch(c -> c > ' ' && c <= '~');
    if (key.length() > LONGEST_KEY || !printable || key.contains("${")) {
      throw new IllegalArgumentException(
          name + ": (expected: at most " + LONGEST_KEY + " characters of ASCII without spaces)");
    }
  }

  /** True if only processes of this machine reach a listener at {@code host}. */
  public static boolean isLocal(String host) {
    return host.equalsIgnoreCase("localhost")
        || host.matches("127(\\.[0-9]{1,3}){3}")
        || host.equals("::1")
        || host.equals("[::1]");
  }

  /** Contains no key. */
  @Override
  public String toString() {
    return "AccessSettings[" + host + ":" + port + "]";
  }
}
