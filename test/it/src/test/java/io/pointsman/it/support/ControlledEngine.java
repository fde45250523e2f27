package io.pointsman.it.support;

import io.pointsman.testkit.engine.EngineConnection;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An engine with adapters and a sleep mode, as vLLM in development mode: it loads and removes
 * adapters, sleeps and wakes, and hangs on requests while it sleeps.
 */
public final class ControlledEngine implements EngineScript {
  private static final Pattern NAME = Pattern.compile("\"lora_name\":\"([^\"]+)\"");
  private static final Pattern MODEL = Pattern.compile("\"model\":\"([^\"]+)\"");

  private final String base;
  private final boolean saysIfItSleeps;
  private final Set<String> adapters = new ConcurrentSkipListSet<>();
  private final List<String> calls = new CopyOnWriteArrayList<>();
  private volatile boolean asleep;
  private volatile int status = 200;

  /**
   * @param saysIfItSleeps true if it supports {@code GET /is_sleeping}
   */
  public ControlledEngine(String base, boolean saysIfItSleeps) {
    this.base = base;
    this.saysIfItSleeps = saysIfItSleeps;
  }

  public Set<String> adapters() {
    return adapters;
  }

  public boolean asleep() {
    return asleep;
  }

  /** Puts it to sleep without a call. */
  public void sleep(boolean now) {
    asleep = now;
  }

  /** Targets of the control calls it received. */
  public List<String> calls() {
    return calls;
  }

  /** Sets the status of further control calls; others than 200 have no effect. */
  public void answerCallsWith(int code) {
    status = code;
  }

  @Override
  public void answer(EngineRequest request, EngineConnection connection) throws IOException {
    String[] line = request.line().split(" ", 3);
    String path = line[1].split("\\?", 2)[0];
    switch (path) {
      case "/health" -> connection.reply(200, "text/plain", "");
      case "/v1/models" -> connection.reply(200, "application/json", models());
      case "/is_sleeping" -> {
        if (saysIfItSleeps) {
          connection.reply(200, "application/json", "{\"is_sleeping\":" + asleep + "}");
        } else {
          connection.reply(404, "text/plain", "");
        }
      }
      case "/v1/load_lora_adapter",
          "/v1/unload_lora_adapter",
          "/sleep",
          "/wake_up",
          "/pause",
          "/resume",
          "/update_weights" ->
          control(path, line[1], request, connection);
      default -> serve(request, connection);
    }
  }

  private void control(
      String path, String target, EngineRequest request, EngineConnection connection)
      throws IOException {
    calls.add(target);
    if (status == 200) {
      switch (path) {
        case "/v1/load_lora_adapter" -> adapters.add(found(NAME, request));
        case "/v1/unload_lora_adapter" -> adapters.remove(found(NAME, request));
        case "/sleep", "/pause" -> asleep = true;
        case "/wake_up", "/resume" -> asleep = false;
        default -> {}
      }
    }
    connection.reply(status, "application/json", "{\"status\":\"" + status + "\"}");
  }

  private void serve(EngineRequest request, EngineConnection connection) throws IOException {
    if (Faults.Healthy.asksForKvSize(request.line()) || request.line().startsWith("GET ")) {
      connection.reply(404, "text/plain", "");
      return;
    }
    String model = found(MODEL, request);
    if (asleep) {
      connection.awaitPeerGone();
      connection.close();
    } else if (model.equals(base) || adapters.contains(model)) {
      connection.reply(200, "application/json", "{\"ok\":true}");
    } else {
      connection.reply(404, "application/json", "{\"error\":{\"message\":\"no such model\"}}");
    }
  }

  private static String found(Pattern pattern, EngineRequest request) {
    Matcher matcher = pattern.matcher(request.bodyText());
    return matcher.find() ? matcher.group(1) : "";
  }

  private String models() {
    StringBuilder list = new StringBuilder("{\"object\":\"list\",\"data\":[{\"id\":\"");
    list.append(base).append("\"}");
    for (String each : adapters) {
      list.append(",{\"id\":\"").append(each).append("\",\"parent\":\"").append(base);
      list.append("\"}");
    }
    return list.append("]}").toString();
  }
}
