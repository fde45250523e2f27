package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.StatusBuilder;
import io.fabric8.kubernetes.api.model.WatchEvent;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.http.Dispatcher;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;
import io.fabric8.mockwebserver.http.Response;
import io.fabric8.mockwebserver.http.WebSocket;
import io.fabric8.mockwebserver.http.WebSocketListener;
import io.pointsman.testkit.engine.RefusedPort;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A cluster's API with pods in memory and two servers. The inner one is for the test and always
 * available. The outer one is for the discovery; the test stops, starts and disturbs it.
 */
final class FakeCluster implements AutoCloseable {
  /** A strong reference that keeps the level. Otherwise the server logs each request. */
  private static final Logger CHATTER = Logger.getLogger(MockWebServer.class.getName());

  private static final Pattern SELECTOR = Pattern.compile("[?&]labelSelector=([^&]*)");

  static {
    CHATTER.setLevel(Level.OFF);
  }

  private final KubernetesCrudDispatcher pods = new KubernetesCrudDispatcher();
  private final KubernetesMockServer inner = server(pods);
  private final KubernetesClient client;
  private final Door door = new Door();
  private final RefusedPort port = RefusedPort.openShared();
  private @Nullable KubernetesMockServer outer;

  /** A cluster without its outer server. */
  FakeCluster() throws IOException {
    inner.init();
    client = inner.createClient();
  }

  private static KubernetesMockServer server(Dispatcher dispatcher) {
    return new KubernetesMockServer(
        new Context(), new MockWebServer(), new HashMap<>(), dispatcher, false);
  }

  String url() {
    return port.url();
  }

  /** Starts the outer server. */
  FakeCluster open() {
    KubernetesMockServer server = server(door);
    server.init(InetAddress.getLoopbackAddress(), port.port());
    outer = server;
    return this;
  }

  /** Stops the outer server. Watches end and must start again with a new list. */
  void shut() {
    if (outer != null) {
      door.compacted.set(true);
      door.watches.clear();
      outer.destroy();
      outer = null;
    }
  }

  /** Creates or replaces the pod. */
  void put(Pod pod) {
    var resource = client.pods().inNamespace(pod.getMetadata().getNamespace()).resource(pod);
    if (resource.get() == null) {
      create(resource);
    } else {
      resource.update();
    }
  }

  /** Creates or replaces an object of another kind. */
  void put(HasMetadata object) {
    var resource = client.resource(object).inNamespace(object.getMetadata().getNamespace());
    if (resource.get() == null) {
      resource.create();
    } else {
      resource.update();
    }
  }

  void delete(HasMetadata object) {
    client.resource(object).inNamespace(object.getMetadata().getNamespace()).delete();
  }

  /** Answers requests with {@code part} in the path with 403; an empty part ends that. */
  void forbid(String part) {
    door.forbidden.set(part);
  }

  /** Creates the pod. The client repeats a late request, although the pod exists by then. */
  private static void create(Resource<Pod> resource) {
    try {
      resource.create();
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        throw e;
      }
    }
  }

  void delete(String name) {
    client.pods().inNamespace("a").withName(name).withGracePeriod(0).delete();
  }

  /** Answers all requests with {@code status}; 0 answers normally. */
  void refuse(int status) {
    door.refusal.set(status);
  }

  /** Ends all watches normally, as an API does every few minutes. */
  void endWatches() {
    for (WebSocket watch : door.taken()) {
      watch.close(1000, "timeout");
    }
  }

  /** Reports to all watches that their version was compacted. */
  void reportWatchesGone() {
    for (WebSocket watch : door.taken()) {
      watch.send(gone());
    }
  }

  private static String gone() {
    return Serialization.asJson(
        new WatchEvent(
            new StatusBuilder().withCode(410).withReason("Expired").withMessage("too old").build(),
            "ERROR"));
  }

  int openWatches() {
    return door.watches.size();
  }

  int lists() {
    return door.lists.get();
  }

  /** Label selectors of the discovery's lists and watches. */
  Set<String> asked() {
    return Set.copyOf(door.asked);
  }

  @Override
  public void close() throws IOException {
    shut();
    client.close();
    inner.destroy();
    port.close();
  }

  private final class Door extends Dispatcher {
    private final AtomicInteger refusal = new AtomicInteger();
    private final AtomicReference<String> forbidden = new AtomicReference<>("");
    private final AtomicInteger lists = new AtomicInteger();
    private final AtomicBoolean compacted = new AtomicBoolean();
    private final List<WebSocket> watches = new CopyOnWriteArrayList<>();
    private final Set<String> asked = ConcurrentHashMap.newKeySet();

    List<WebSocket> taken() {
      List<WebSocket> all = List.copyOf(watches);
      watches.clear();
      return all;
    }

    @Override
    public MockResponse dispatch(RecordedRequest request) {
      note(request.getPath());
      if (request.getPath().contains("watch=true") && compacted.get()) {
        return new MockResponse().withWebSocketUpgrade(new TooOld());
      }
      String closed = forbidden.get();
      int status = !closed.isEmpty() && request.getPath().contains(closed) ? 403 : refusal.get();
      if (status > 0) {
        return new MockResponse()
            .setResponseCode(status)
            .setBody(
                Serialization.asJson(
                    new StatusBuilder().withCode(status).withMessage("refused").build()));
      }
      MockResponse response = pods.dispatch(request);
      WebSocketListener watch = response.getWebSocketListener();
      if (watch == null) {
        lists.incrementAndGet();
        compacted.set(false);
        return response;
      }
      return response.withWebSocketUpgrade(new Noting(watch, watches));
    }

    private void note(String path) {
      Matcher selector = SELECTOR.matcher(path);
      if (selector.find()) {
        String kind = path.contains("watch=true") ? "watch " : "list ";
        asked.add(kind + URLDecoder.decode(selector.group(1), StandardCharsets.UTF_8));
      }
    }
  }

  /** Reports to a watch that it cannot continue from its version. */
  private static final class TooOld extends WebSocketListener {
    @Override
    public void onOpen(WebSocket socket, Response response) {
      socket.send(gone());
    }
  }

  /**
   * Records the open watches. It reports the end of a watch on a separate thread. The pods'
   * dispatcher then waits for pending output and would block the loop that sends it.
   */
  private static final class Noting extends WebSocketListener {
    private final WebSocketListener next;
    private final List<WebSocket> watches;

    Noting(WebSocketListener next, List<WebSocket> watches) {
      this.next = next;
      this.watches = watches;
    }

    @Override
    public void onBeforeAccept(WebSocket socket, Response response) {
      next.onBeforeAccept(socket, response);
    }

    @Override
    public void onOpen(WebSocket socket, Response response) {
      next.onOpen(socket, response);
      watches.add(socket);
    }

    @Override
    public void onClosing(WebSocket socket, int code, String reason) {
      watches.remove(socket);
      next.onClosing(socket, code, reason);
    }

    @Override
    public void onClosed(WebSocket socket, int code, String reason) {
      watches.remove(socket);
      Thread.startVirtualThread(() -> next.onClosed(socket, code, reason));
    }

    @Override
    public void onFailure(WebSocket socket, Throwable error, Response response) {
      watches.remove(socket);
      Thread.startVirtualThread(() -> next.onFailure(socket, error, response));
    }
  }
}
