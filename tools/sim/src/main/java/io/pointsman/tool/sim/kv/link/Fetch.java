package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.protocol.Task;
import java.util.function.Consumer;

/**
 * A fetch of KV. The KV is claimed when the request arrives, and its lease is renewed every sixth
 * of its length. It is read in the link's transfer time, then released. An aborted request releases
 * too.
 */
final class Fetch {
  private static final double PATIENCE_SECONDS = 15;

  private final KvNode node;
  private final Task.Consume task;
  private final int known;
  private final Runnable loaded;
  private final Consumer<FieldError> failed;
  private Runnable call = () -> {};
  private boolean transferring;
  private boolean over;

  /**
   * Creates a fetch.
   *
   * @param known tokens that are present already and need no transfer
   */
  Fetch(KvNode node, Task.Consume task, int known, Runnable loaded, Consumer<FieldError> failed) {
    this.node = node;
    this.task = task;
    this.known = known;
    this.loaded = loaded;
    this.failed = failed;
  }

  void begin() {
    ObjectNode claim = task.claim().write();
    double wait = task.waits() ? node.options().waitSeconds() : 0;
    claim.put("wait_ms", (long) (wait * 1000));
    call = node.peers().call(task.peer(), "/kv/take", claim, wait + PATIENCE_SECONDS, this::taken);
    beatLater();
  }

  /** Cancels the fetch and releases the KV. */
  void cancel() {
    if (!over) {
      over = true;
      call.run();
      if (transferring) {
        node.counters().transferCancelled();
      }
      release();
    }
  }

  private void taken(int status, JsonNode body) {
    if (over) {
      return;
    }
    if (status != 200) {
      over = true;
      failed.accept(error(task.peer(), status, body));
      return;
    }
    transferring = true;
    node.counters().transferStarted();
    int tokens = Math.max(0, task.tokens() - known);
    double millis = node.options().transferMillis(tokens);
    if (millis == 0) {
      arrived(tokens);
    } else {
      node.driver().later(millis, () -> arrived(tokens));
    }
  }

  private void arrived(int tokens) {
    if (!over) {
      over = true;
      node.counters().transferFinished(tokens);
      release();
      loaded.run();
    }
  }

  private void beatLater() {
    node.driver().later(node.options().leaseSeconds() * 1000 / 6, this::beat);
  }

  private void beat() {
    if (!over) {
      node.peers().report(task.peer(), "/kv/renew", key());
      beatLater();
    }
  }

  private void release() {
    node.peers().report(task.peer(), "/kv/release", key());
  }

  private ObjectNode key() {
    return Claim.to(task.claim().key()).write();
  }

  /** Returns the error for the field that led to a peer without a valid answer. */
  static FieldError error(Task.SideChannel peer, int status, JsonNode body) {
    String where = peer.host() + ":" + peer.port();
    if (status == 0) {
      return FieldError.stale(peer.field(), where + " does not answer");
    }
    if (!body.has("field")) {
      return FieldError.stale(
          peer.field(), where + " is not a side channel (status " + status + ")");
    }
    return FieldError.stale(body.path("field").asText(), body.path("reason").asText());
  }
}
