package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.api.admin.ClientPaths;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The files of one HAProxy, in a temporary directory. */
final class HaproxyFiles implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(HaproxyFiles.class);
  private static final int BUFFER = 131_072;
  private static final int PATHS_OF_A_LINE = 40;
  private static final List<String> NAMES =
      List.of("haproxy.cfg", "give-up.lua", "first-token.lua", "spoe.cfg");

  /** Bytes of a body, without framing, that HAProxy buffers before it queries the router. */
  static final int BODY_WAIT = BUFFER - BUFFER / 8;

  /** Table entries per connection: recently ended streams need entries too. */
  private static final int LEASES_PER_CONNECTION = 2;

  private final Path directory;

  private HaproxyFiles(Path directory) {
    this.directory = directory;
  }

  /**
   * Writes the files.
   *
   * @param port port for clients
   * @param logPort UDP port for the log line at each stream's end
   */
  static HaproxyFiles write(HaproxySettings settings, int port, int logPort) throws IOException {
    HaproxyFiles files = new HaproxyFiles(Files.createTempDirectory("pointsman-haproxy"));
    try {
      Map<String, String> names = files.names(settings, port, logPort);
      for (String name : NAMES) {
        String text = template(name);
        for (Map.Entry<String, String> each : names.entrySet()) {
          text = text.replace(each.getKey(), each.getValue());
        }
        Files.writeString(files.directory.resolve(name), text);
      }
      Files.createFile(files.directory.resolve("workers.map"));
      return files;
    } catch (IOException e) {
      files.close();
      throw e;
    }
  }

  private Map<String, String> names(HaproxySettings settings, int port, int logPort)
      throws IOException {
    InetSocketAddress spoe = settings.spoe();
    Map<String, String> names = new LinkedHashMap<>();
    names.put("@NAMES@", "names between at signs");
    names.put("@LOG_ADDRESS@", "127.0.0.1:" + logPort);
    names.put("@SOCKET@", socket().toString());
    names.put("@MAXCONN@", Integer.toString(settings.maxConnections()));
    names.put("@BUFSIZE@", Integer.toString(BUFFER));
    names.put("@BODY_WAIT@", Integer.toString(BODY_WAIT));
    names.put("@ENGINE_KEY@", settings.engineKey().isEmpty() ? "no" : "yes");
    names.put("@NOTES_FIRST@", settings.firstToken() ? "yes" : "no");
    names.put("@GUARDED@", settings.guarded() ? "yes" : "no");
    names.put("@GIVE_UP@", path("give-up.lua"));
    names.put("@FIRST_TOKEN@", path("first-token.lua"));
    names.put("@SPOE_CONFIG@", path("spoe.cfg"));
    names.put("@SPOE_ADDRESS@", numeric(spoe.getHostString(), spoe.getPort()));
    names.put("@LISTEN@", settings.listen().getHostString() + ":" + port);
    names.put("@MAP@", path("workers.map"));
    names.put("@SLOTS@", Integer.toString(settings.slots()));
    names.put("@LEASES@", Integer.toString(LEASES_PER_CONNECTION * settings.maxConnections()));
    names.put("@CONTROL_PATHS@", controlPaths(false));
    names.put("@CONTROL_PREFIXES@", controlPaths(true));
    names.put("@REFUSALS@", refusals());
    names.put("@TIMEOUT_MS@", Long.toString(settings.timeout().toMillis()));
    names.put("@TTL_MS@", Long.toString(settings.ttl().toMillis()));
    return names;
  }

  /** Conditions of one name; one must hold. HAProxy takes at most 64 words in a line. */
  private static String controlPaths(boolean prefixes) {
    List<String> paths =
        ClientPaths.unserved().stream()
            .filter(each -> (each.endsWith("/") || each.endsWith("*")) == prefixes)
            .map(each -> each.replace("*", ""))
            .toList();
    List<String> lines = new ArrayList<>();
    for (int from = 0; from < paths.size(); from += PATHS_OF_A_LINE) {
      int to = Math.min(paths.size(), from + PATHS_OF_A_LINE);
      lines.add(
          "  acl control var(txn.pm.path) -m "
              + (prefixes ? "beg " : "str ")
              + String.join(" ", paths.subList(from, to)));
    }
    return String.join("\n", lines);
  }

  /** One line for each status, because HAProxy takes no status from a variable. */
  private static String refusals() {
    return SpoeAnswers.REFUSALS.stream()
        .sorted()
        .map(
            status ->
                "  http-request return status "
                    + status
                    + " content-type application/json lf-string %[var(txn.pm.body)]"
                    + (SpoeAnswers.WAITS.contains(status)
                        ? " hdr retry-after %[var(txn.pm.retry)]"
                        : "")
                    + " if { var(txn.pm.status) -m int "
                    + status
                    + " }")
        .collect(Collectors.joining("\n"));
  }

  private static String numeric(String host, int port) throws IOException {
    return InetAddress.getByName(host).getHostAddress() + ":" + port;
  }

  private static String template(String name) throws IOException {
    try (InputStream in = HaproxyFiles.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException(name + " is missing in this program");
      }
      return new String(in.readAllBytes(), UTF_8);
    }
  }

  private String path(String name) {
    return directory.resolve(name).toString();
  }

  String configuration() {
    return path("haproxy.cfg");
  }

  /** The map from workers to servers. */
  String map() {
    return path("workers.map");
  }

  /** The socket of the runtime API. */
  Path socket() {
    return directory.resolve("s");
  }

  /** The file with HAProxy's output. */
  Path output() {
    return directory.resolve("haproxy.log");
  }

  /** Deletes the files. */
  @Override
  public void close() {
    try (Stream<Path> files = Files.walk(directory)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      log.debug("{} was not removed", directory, e);
    }
  }
}
