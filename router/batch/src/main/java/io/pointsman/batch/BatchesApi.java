package io.pointsman.batch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.request.Endpoint;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The endpoints for batches. */
final class BatchesApi {
  /** Maximum number of batches that are not finished. */
  static final int MOST_OPEN = 1000;

  /** Maximum number of batches; the oldest finished ones are forgotten beyond it. */
  static final int MOST_BATCHES = 10_000;

  private static final String JSON = "application/json";
  private static final String PATH = "/v1/batches";
  private static final String BATCH = "/v1/batches/";
  private static final String CANCEL = "/cancel";
  private static final String WINDOW = "24h";
  private static final int MOST_METADATA = 16;
  private static final int LONGEST_METADATA = 512;
  private static final long LONGEST_WINDOW = Duration.ofDays(30).toSeconds();
  private static final Pattern DURATION = Pattern.compile("(\\d{1,7})([smhd])");

  private final BatchStore store;
  private final BatchRunner runner;
  private final InstantSource clock;
  private final Supplier<String> ids;
  private final Owners owners;

  BatchesApi(
      BatchStore store,
      BatchRunner runner,
      InstantSource clock,
      Supplier<String> ids,
      Owners owners) {
    this.store = store;
    this.runner = runner;
    this.clock = clock;
    this.ids = ids;
    this.owners = owners;
  }

  void addTo(LocalRoutes.Builder routes) {
    routes.on("POST", PATH, this::create);
    routes.on("GET", PATH, this::list);
    routes.below("GET", BATCH, this::get);
    routes.below("POST", BATCH, this::cancelByPost);
    routes.below("DELETE", BATCH, request -> cancel(request, request.pathAfter(BATCH)));
  }

  private LocalResponse create(LocalRequest request) {
    if (request.client().restricted()) {
      // The requests of a batch have the key of the batches, which may use other models.
      return Answers.error(
          ProxyError.MODEL_NOT_PERMITTED,
          "batches: not permitted for an API key that may use only some models",
          null);
    }
    String type = request.header("content-type");
    if (type == null || !type.strip().toLowerCase(Locale.ROOT).startsWith(JSON)) {
      // Pages of other origins can send every other type without permission.
      return invalid("content-type: " + type + " (expected: application/json)", null);
    }
    JsonNode body;
    try {
      body = Answers.MAPPER.readTree(request.body());
    } catch (IOException e) { // not JSON, or not UTF-8: the bytes are in memory
      return invalid("request body: invalid (expected: a JSON object)", null);
    }
    if (!body.isObject()) {
      return invalid("request body: invalid (expected: a JSON object)", null);
    }
    String input = body.path("input_file_id").asText("");
    String endpoint = body.path("endpoint").asText("");
    if (input.isEmpty()) {
      return Answers.missing("input_file_id");
    }
    if (endpoint.isEmpty()) {
      return Answers.missing("endpoint");
    }
    if (!takes(endpoint)) {
      return invalid(
          "endpoint: not supported (expected: a path such as /v1/chat/completions)", "endpoint");
    }
    String window = body.path("completion_window").asText(WINDOW);
    long seconds = seconds(window);
    if (seconds == 0) {
      return invalid(
          "completion_window: invalid (expected: a duration such as 24h, at most 30d)",
          "completion_window");
    }
    JsonNode metadata = body.path("metadata");
    if (!valid(metadata)) {
      return invalid("metadata: invalid (expected: at most 16 short texts)", "metadata");
    }
    StoredFile file = store.file(input, owners.of(request));
    if (file == null) {
      return Answers.notFound("File", input);
    }
    return create(request.client(), file, endpoint, window, seconds, metadata);
  }

  private LocalResponse create(
      ClientIdentity client,
      StoredFile input,
      String endpoint,
      String window,
      long seconds,
      JsonNode metadata) {
    String owner = input.owner();
    if (store.openCount(null) >= MOST_OPEN) {
      return tooMany("batches: " + MOST_OPEN + " are not finished");
    }
    if (store.openCount(owner) >= owners.shareOf(MOST_OPEN)) {
      return tooMany(
          "batches: "
              + owners.shareOf(MOST_OPEN)
              + " of this client are not finished (batch.max-share)");
    }
    if (store.batchCount(owner) >= owners.shareOf(MOST_BATCHES)) {
      store.forgetOldest(owner);
    } else if (store.batchCount(null) >= MOST_BATCHES) {
      String most = store.ownerOfMostFinished();
      if (most != null) {
        store.forgetOldest(most);
      }
    }
    long now = clock.instant().getEpochSecond();
    Batch batch = Batch.create("batch_" + ids.get(), input, endpoint, window, now, now + seconds);
    StoredClient.write(client, batch.json());
    if (metadata.isObject()) {
      batch.json().set("metadata", metadata);
    }
    store.add(batch);
    runner.begin(batch);
    return Answers.ok(batch.shown());
  }

  private static LocalResponse tooMany(String message) {
    return Answers.error(LocalError.TOO_MANY_BATCHES, message, null)
        .withHeader("retry-after", "60");
  }

  /** True for the routes with complete documents as answers. */
  private static boolean takes(String path) {
    return switch (Endpoint.of("POST", path)) {
      case CHAT_COMPLETIONS,
          COMPLETIONS,
          RESPONSES,
          MESSAGES,
          EMBEDDINGS,
          RERANK,
          SCORE,
          POOLING,
          CLASSIFY,
          GENERATE,
          TOKENIZE,
          IMAGES_GENERATIONS ->
          path.indexOf('?') < 0;
      default -> false;
    };
  }

  /** A duration in seconds; 0 if it is none. */
  private static long seconds(String window) {
    Matcher parts = DURATION.matcher(window);
    if (!parts.matches()) {
      return 0;
    }
    long unit =
        switch (parts.group(2)) {
          case "s" -> 1;
          case "m" -> 60;
          case "h" -> 3600;
          default -> 86_400;
        };
    long seconds = Long.parseLong(parts.group(1)) * unit;
    return seconds > LONGEST_WINDOW ? 0 : seconds;
  }

  private static boolean valid(JsonNode metadata) {
    if (metadata.isMissingNode() || metadata.isNull()) {
      return true;
    }
    return metadata.isObject()
        && metadata.size() <= MOST_METADATA
        && metadata.properties().stream()
            .allMatch(
                each ->
                    each.getValue().isTextual()
                        && each.getKey().length() <= LONGEST_METADATA
                        && each.getValue().asText().length() <= LONGEST_METADATA);
  }

  private static LocalResponse invalid(String message, @Nullable String parameter) {
    return Answers.error(ProxyError.INVALID_PARAMETER, message, parameter);
  }

  private LocalResponse list(LocalRequest request) {
    int limit = Answers.limit(request);
    if (limit == 0) {
      return Answers.badLimit();
    }
    String after = request.parameter("after");
    List<ObjectNode> batches =
        store.batches(owners.of(request), after, limit + 1).stream().map(Batch::shown).toList();
    return Answers.list(batches, limit);
  }

  private LocalResponse get(LocalRequest request) {
    String id = request.pathAfter(BATCH);
    Batch batch = store.batch(id, owners.of(request));
    return batch == null ? Answers.notFound("Batch", id) : Answers.ok(batch.shown());
  }

  private LocalResponse cancelByPost(LocalRequest request) {
    String rest = request.pathAfter(BATCH);
    return rest.endsWith(CANCEL)
        ? cancel(request, rest.substring(0, rest.length() - CANCEL.length()))
        : Answers.notFound("Path", request.path());
  }

  private LocalResponse cancel(LocalRequest request, String id) {
    Batch batch = store.batch(id, owners.of(request));
    if (batch == null) {
      return Answers.notFound("Batch", id);
    }
    Batch cancelled = runner.cancel(id);
    return cancelled == null
        ? Answers.error(
            LocalError.BATCH_FINISHED,
            "batch: it is " + batch.status().word() + " (expected: a batch that is not finished)",
            "id")
        : Answers.ok(cancelled.shown());
  }
}
