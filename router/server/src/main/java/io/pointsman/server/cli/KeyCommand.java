package io.pointsman.server.cli;

import static java.util.Objects.requireNonNull;

import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.QuotaFields;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.config.ConfigException;
import io.pointsman.engine.env.FileProblem;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.identity.Priority;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code pointsman key}: creates keys of clients. */
@Command(
    name = "key",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    subcommands = KeyCommand.Create.class,
    description =
        "Create keys of clients, planes and administrators (auth.keys-file, auth.keys-env).")
final class KeyCommand implements Runnable {
  @Spec private @Nullable CommandSpec spec;

  @Override
  public void run() {
    CommandLine command = requireNonNull(spec, "spec").commandLine();
    throw new ParameterException(command, "no command (expected: create)");
  }

  /** {@code pointsman key create}: prints a new key once, and stores its hash. */
  @Command(
      name = "create",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = {
        "Create a key, print it once, and add its hash to a file. A running router reads the file"
            + " again by itself.",
        "",
        "  pointsman key create --name alice --role client --expires 30d --file keys.yaml",
        ""
      })
  static final class Create implements Callable<Integer> {
    private static final Pattern TIME = Pattern.compile("([1-9][0-9]{0,4})([dhm])");

    private final InstantSource clock = InstantSource.system();

    @Spec private @Nullable CommandSpec spec;

    @Option(
        names = "--name",
        paramLabel = "<name>",
        required = true,
        description = "Name of the key, shown in metrics and logs; each once in the file.")
    private String name = "";

    @Option(
        names = "--role",
        paramLabel = "<role>",
        required = true,
        description = {
          "client: requests at the port of clients. plane: decisions for another proxy. admin: the"
              + " admin listener. Each role opens nothing else."
        })
    private String role = "";

    @Option(
        names = "--models",
        paramLabel = "<model>",
        split = ",",
        description = "Models that the key may use, separated by commas. Without it: all.")
    private List<String> models = List.of();

    @Option(
        names = "--limits",
        paramLabel = "<limit=number>",
        split = ",",
        description =
            "Own limits of the key for each model, for example"
                + " requests-per-minute=60,concurrency=4. The names are those of client-limits.*;"
                + " the others keep their values there.")
    private Map<String, String> limits = Map.of();

    @Option(
        names = "--priority",
        paramLabel = "<priority>",
        description =
            "Priority of the key's requests in the queue: high, normal or low. The header"
                + " x-pointsman-priority can only lower it. Without it: limits.max-priority.")
    private String priority = "";

    @Option(
        names = "--expires",
        paramLabel = "<time>",
        description = "Time until the key ends, for example 30d or 12h. Without it: never.")
    private String expires = "";

    @Option(
        names = "--file",
        paramLabel = "<file>",
        required = true,
        description =
            "File with the keys (for auth.keys-file or auth.keys-env). It is created if it does not"
                + " exist.")
    private String file = "";

    @Override
    public Integer call() {
      SecureRandom random = new SecureRandom();
      String key = StoredKey.create(random::nextBytes);
      try {
        KeyFile.add(Path.of(file), stored(key));
      } catch (IOException e) {
        throw new ConfigException("--file: " + file + ": " + FileProblem.of(e));
      }
      PrintWriter out = requireNonNull(spec, "spec").commandLine().getOut();
      out.println(key);
      out.flush();
      return 0;
    }

    private StoredKey stored(String key) {
      try {
        return new StoredKey(
            name,
            KeyRole.of(role),
            StoredKey.hash(key),
            List.copyOf(models),
            new ClientQuotas(QuotaFields.of(limits), Map.of()),
            priority.isEmpty() ? null : Priority.of(priority),
            end());
      } catch (IllegalArgumentException e) {
        throw new ConfigException("--" + e.getMessage());
      }
    }

    private @Nullable Instant end() {
      if (expires.isEmpty()) {
        return null;
      }
      Matcher found = TIME.matcher(expires);
      if (!found.matches()) {
        throw new IllegalArgumentException(
            "expires: " + expires + " (expected: a time such as 30d, 12h or 15m)");
      }
      long number = Long.parseLong(found.group(1));
      Duration lasts =
          switch (found.group(2)) {
            case "d" -> Duration.ofDays(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofMinutes(number);
          };
      return clock.instant().plus(lasts).truncatedTo(ChronoUnit.SECONDS);
    }
  }
}
