package io.pointsman.it.support;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A page in Chromium (Debian: {@code chromium}) without a window, driven by its DevTools protocol.
 */
public final class Browser implements AutoCloseable {
  private static final List<String> PROGRAMS = List.of("chromium", "chromium-browser");
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Process process;
  private final Path profile;
  private final AtomicInteger lastId = new AtomicInteger();
  private final Map<Integer, CompletableFuture<JsonNode>> calls = new ConcurrentHashMap<>();
  private final List<String> problems = new CopyOnWriteArrayList<>();
  private final List<String> requests = new CopyOnWriteArrayList<>();
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;

  private Browser(Process process, Path profile) throws Exception {
    this.process = process;
    this.profile = profile;
    Path found = profile.resolve("DevToolsActivePort");
    WaitFor.until("the browser listens", WaitFor.LONG, () -> hasPort(found));
    URI pages =
        URI.create("http://127.0.0.1:" + Files.readAllLines(found).getFirst() + "/json/list");
    String list =
        http.send(HttpRequest.newBuilder(pages).build(), HttpResponse.BodyHandlers.ofString())
            .body();
    String address = "";
    for (JsonNode each : JSON.readTree(list)) {
      address =
          each.path("type").asText().equals("page")
              ? each.path("webSocketDebuggerUrl").asText()
              : address;
    }
    socket =
        http.newWebSocketBuilder()
            .buildAsync(URI.create(address), new Messages())
            .get(60, TimeUnit.SECONDS);
    for (String domain : List.of("Page", "Runtime", "Log", "Network", "Accessibility")) {
      call(domain + ".enable", "{}");
    }
  }

  private static boolean hasPort(Path file) {
    try {
      return Files.exists(file) && Files.readAllLines(file).size() > 1;
    } catch (IOException e) {
      return false;
    }
  }

  /** True if a browser is installed. */
  public static boolean installed() {
    return program() != null;
  }

  private static @Nullable String program() {
    for (String directory : System.getenv("PATH").split(":", -1)) {
      for (String program : PROGRAMS) {
        if (Files.isExecutable(Path.of(directory, program))) {
          return program;
        }
      }
    }
    return null;
  }

  /** Starts a browser that calls no other servers of its own. */
  public static Browser start() throws Exception {
    Path profile = Files.createTempDirectory("pointsman-browser");
    List<String> command =
        List.of(
            String.valueOf(program()),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--user-data-dir=" + profile,
            "--remote-debugging-port=0",
            "about:blank");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(profile.resolve("browser.log").toFile())
            .start();
    return new Browser(process, profile);
  }

  private final class Messages implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        received(text.toString());
        text.setLength(0);
      }
      from.request(1);
      return null;
    }
  }

  private void received(String message) {
    JsonNode node;
    try {
      node = JSON.readTree(message);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    CompletableFuture<JsonNode> call = calls.remove(node.path("id").asInt(-1));
    if (call != null) {
      call.complete(node);
    }
    JsonNode parameters = node.path("params");
    switch (node.path("method").asText()) {
      case "Log.entryAdded" -> {
        if (parameters.path("entry").path("level").asText().equals("error")) {
          problems.add(parameters.path("entry").path("text").asText());
        }
      }
      case "Runtime.exceptionThrown" ->
          problems.add(parameters.path("exceptionDetails").toString());
      case "Network.requestWillBeSent" ->
          requests.add(parameters.path("request").path("url").asText());
      default -> {}
    }
  }

  private JsonNode call(String method, String parameters) throws Exception {
    int id = lastId.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    calls.put(id, answer);
    ObjectNode message = JSON.createObjectNode();
    message.put("id", id).put("method", method).set("params", JSON.readTree(parameters));
    socket.sendText(JSON.writeValueAsString(message), true);
    JsonNode got = answer.get(60, TimeUnit.SECONDS);
    if (got.has("error")) {
      throw new IllegalStateException(method + ": " + got.path("error"));
    }
    return got.path("result");
  }

  /** Opens a page and waits until its script has run. */
  public void open(String url) throws Exception {
    ObjectNode parameters = JSON.createObjectNode().put("url", url);
    call("Page.navigate", JSON.writeValueAsString(parameters));
    until(
        "the page is loaded",
        "location.href !== 'about:blank' && document.readyState === 'complete'");
  }

  /** Sets the size of the window, in CSS pixels. */
  public void size(int width, int height) throws Exception {
    call(
        "Emulation.setDeviceMetricsOverride",
        "{\"width\":%d,\"height\":%d,\"deviceScaleFactor\":1,\"mobile\":%b}"
            .formatted(width, height, width < 600));
  }

  /** Sets the preferred scheme of colours. */
  public void dark(boolean dark) throws Exception {
    call(
        "Emulation.setEmulatedMedia",
        "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"%s\"}]}"
            .formatted(dark ? "dark" : "light"));
  }

  /** The value of an expression in the page, as text. */
  public String value(String expression) throws Exception {
    ObjectNode parameters = JSON.createObjectNode();
    parameters.put("expression", expression).put("returnByValue", true).put("awaitPromise", true);
    JsonNode result = call("Runtime.evaluate", JSON.writeValueAsString(parameters));
    if (result.has("exceptionDetails")) {
      throw new IllegalArgumentException(expression + ": " + result.path("exceptionDetails"));
    }
    return result.path("result").path("value").asText();
  }

  /** Waits until an expression is true. */
  public void until(String what, String expression) {
    WaitFor.until(
        () -> what + ": " + shown(),
        WaitFor.LONG,
        () -> {
          try {
            return value("Boolean(" + expression + ")").equals("true");
          } catch (Exception e) {
            return false;
          }
        });
  }

  private String shown() {
    try {
      return value("document.body.innerText") + problems;
    } catch (Exception e) {
      return e.toString();
    }
  }

  /** Sets the value of a field, as a user would by typing. */
  public void type(String selector, String text) throws Exception {
    value("document.querySelector('" + selector + "').focus()");
    value("document.querySelector('" + selector + "').select?.()");
    ObjectNode parameters = JSON.createObjectNode().put("text", text);
    call("Input.insertText", JSON.writeValueAsString(parameters));
  }

  /** Presses a key: {@code Enter}, {@code Tab} or {@code Space}. */
  public void press(String key) throws Exception {
    String text = key.equals("Enter") ? "\\r" : key.equals("Space") ? " " : "";
    String name = key.equals("Space") ? " " : key;
    int code = key.equals("Enter") ? 13 : key.equals("Tab") ? 9 : 32;
    String more = text.isEmpty() ? "" : ",\"text\":\"" + text + "\"";
    String common =
        "\"key\":\"%s\",\"code\":\"%s\",\"windowsVirtualKeyCode\":%d".formatted(name, key, code);
    call("Input.dispatchKeyEvent", "{\"type\":\"keyDown\"," + common + more + "}");
    call("Input.dispatchKeyEvent", "{\"type\":\"keyUp\"," + common + "}");
  }

  /** Controls without a name for screen readers, by their role. */
  public List<String> unnamedControls() throws Exception {
    List<String> unnamed = new ArrayList<>();
    int named = 0;
    for (JsonNode node : call("Accessibility.getFullAXTree", "{}").path("nodes")) {
      String role = node.path("role").path("value").asText();
      boolean control =
          List.of("button", "textbox", "searchbox", "combobox", "link", "img", "table")
              .contains(role);
      if (control && !node.path("ignored").asBoolean()) {
        named++;
        if (node.path("name").path("value").asText().isBlank()) {
          unnamed.add(role);
        }
      }
    }
    if (named == 0) {
      throw new IllegalStateException("no controls (expected: some)");
    }
    return unnamed;
  }

  /** Errors of the page: exceptions, refused parts, failed calls. */
  public List<String> problems() {
    return List.copyOf(problems);
  }

  /** URLs that the page has asked for. */
  public List<String> requests() {
    return List.copyOf(requests);
  }

  @Override
  public void close() throws IOException {
    socket.abort();
    http.close();
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    try (Stream<Path> files = Files.walk(profile)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }
}
