package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.config.settings.AccessSettings;
import java.util.List;

/** Keys of the admin listener, and of the paths that clients can use. */
public final class AccessKeys {
  private static final AccessSettings STANDARD = AccessSettings.DEFAULTS;

  public static final Key<String> HOST =
      Key.of(
          "admin.host",
          text("<host>", "an address or a name", false),
          STANDARD.host(),
          "Address of the admin listener: worker API, decision service, decisions, control calls to"
              + " engines, and metrics.",
          "An address that other machines reach needs `admin.api-key`, a key with role `admin`"
              + " in `auth.keys-file` or `auth.keys-env`, certificates of callers"
              + " (`admin-tls.client-ca-file`), or `insecure-admin`.");

  public static final Key<Integer> PORT =
      Key.of(
          "admin.port",
          integer(0, 65_535),
          STANDARD.port(),
          "Port of the admin listener. If this key is not set and the default is in use, the router"
              + " takes a free port and logs it.",
          "`0`: any free port; the router prints it.");

  public static final Key<String> API_KEY =
      Key.of(
              "admin.api-key",
              text("<key>", "a key", true),
              STANDARD.adminKey(),
              "Bearer token for the admin paths. Browsers can send it as a password, with any user"
                  + " name.",
              "Empty: everybody who reaches the listener can use it.")
          .secret();

  public static final Key<String> API_KEY_FILE =
      Key.of(
          "admin.api-key-file",
          text("<file>", "a file", true),
          "",
          "File with the value of `admin.api-key`. It is read at the start and at each reload.",
          "Empty: no file. Other users of the machine can see a key on the command line.");

  public static final Key<List<String>> NAMES =
      Key.of(
          "admin.names",
          texts("<name>", "host names"),
          STANDARD.names(),
          "Host names by which the admin listener is called. A call must have one of them,"
              + " `localhost` or an address in `Host`. Web pages of these names may call it.",
          "A name that strangers control lets their web pages call the listener.");

  public static final Key<Boolean> ON_CLIENT_PORT =
      Key.of(
          "admin.on-client-port",
          bool(),
          STANDARD.onClientPort(),
          "Serve the admin paths on the client port too, with the same checks.",
          "`true`: every client without a key can change the fleet. A client port that other"
              + " machines reach, or keys of clients (`auth.*`), need `admin.api-key`, a key with"
              + " role `admin` in `auth.keys-file` or `auth.keys-env`, or `insecure-admin`.");

  public static final Key<Boolean> INSECURE =
      Key.of(
          "insecure-admin",
          bool(),
          STANDARD.insecure(),
          "Start although others can reach the admin paths or `decide.spoe-address` without a key.",
          "`true`: everybody who reaches the address can send prompts to a server of their"
              + " choice.");

  public static final Key<List<String>> WORKER_NETWORKS =
      Key.of(
          "admin.worker-networks",
          texts("<network>", "networks such as 10.0.0.0/8, addresses, host names, or *.domain"),
          STANDARD.workerNetworks(),
          "Hosts of workers that can be added over HTTP, or that register themselves. Hosts of"
              + " configured workers are always admitted; others get 403. Names must be listed, and"
              + " are not resolved for this check.",
          "`0.0.0.0/0`: the router can be made to send prompts to every address.");

  public static final Key<List<String>> KEY_ORIGINS =
      Key.of(
          "api-key-origins",
          texts("<url>", "URLs such as http://10.0.0.7:8000"),
          STANDARD.keyOrigins(),
          "Workers that get the engines' keys (`api-key` and others) although they were added over"
              + " HTTP or registered themselves. Scheme, host and port must match.",
          "An empty list: only workers of the configuration, `discovery.*` and Kubernetes get"
              + " them.");

  public static final Key<List<String>> ALLOWED_PATHS =
      Key.of(
          "paths.allow",
          texts("<path>", "api, paths that start with /, or such paths with /* at the end"),
          STANDARD.allowedPaths(),
          "The only paths for clients; others get 404. `api` stands for the known routes, models"
              + " and health. A path that ends in `/*` stands for all paths below it.",
          "An empty list: every path goes to a worker, except the closed ones.");

  private AccessKeys() {}

  static List<Key<?>> all() {
    return List.of(
        ALLOWED_PATHS,
        KEY_ORIGINS,
        INSECURE,
        HOST,
        PORT,
        API_KEY,
        API_KEY_FILE,
        NAMES,
        ON_CLIENT_PORT,
        WORKER_NETWORKS);
  }
}
