package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.BatchSettings;
import io.pointsman.proxy.identity.ClientIdentity;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client that uses its share of the store, and another one. */
@Timeout(120)
class SharesTest {
  private static final ClientIdentity ALICE = named("alice");
  private static final ClientIdentity BOB = named("bob");

  /**
   * A thousandth of each limit: 10 kB, 10 files, 10 batches, and one batch that is not finished.
   */
  private static final BatchSettings SETTINGS =
      new BatchSettings(
          true,
          "unused",
          4096,
          10_000_000,
          0.001,
          5,
          2,
          3,
          BatchSettings.DEFAULTS.requestTimeout(),
          "");

  @TempDir Path directory;
  private BatchRig rig;

  private static ClientIdentity named(String name) {
    return new ClientIdentity(ClientIdentity.Kind.KEY, name, Set.of());
  }

  @BeforeEach
  void start() throws IOException {
    rig = new BatchRig(directory, SETTINGS).started();
    rig.client = ALICE;
  }

  @AfterEach
  void stop() throws IOException {
    rig.close();
  }

  private BatchRig.Reply upload(int bytes) throws Exception {
    String file = "name=\"file\"; filename=\"x\"";
    return rig.upload(BatchRig.part(file, "x".repeat(bytes)) + "--b--\r\n");
  }

  private BatchRig.Reply create(String file) throws Exception {
    return rig.post(
        "/v1/batches",
        "{\"input_file_id\":\"" + file + "\",\"endpoint\":\"/v1/chat/completions\"}");
  }

  @Test
  void bytes() throws Exception {
    String first = rig.file("x".repeat(4000));
    rig.file("x".repeat(4000));
    BatchRig.Reply refused = upload(3000);
    assertThat(refused.status()).isEqualTo(413);
    assertThat(refused.text()).contains("batch.max-share");

    rig.client = BOB;
    assertThat(upload(3000).status()).isEqualTo(200);
    rig.client = ALICE;
    assertThat(rig.delete("/v1/files/" + first).status()).isEqualTo(200);
    assertThat(upload(3000).status()).isEqualTo(200);
  }

  @Test
  void files() throws Exception {
    for (int i = 0; i < 10; i++) {
      rig.file("x");
    }
    BatchRig.Reply refused = upload(1);
    assertThat(refused.status()).isEqualTo(413);
    assertThat(refused.text()).contains("this client has 10").contains("batch.max-share");

    rig.client = BOB;
    assertThat(upload(1).status()).isEqualTo(200);
  }

  @Test
  void unfinishedBatches() throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    rig.script =
        body -> {
          answer.await();
          return BatchRig.ok("{}");
        };
    String file = rig.file(BatchRig.line("a"));
    String batch = rig.batch(file, "");
    BatchRig.Reply refused = create(file);
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.text()).contains("1 of this client").contains("batch.max-share");

    rig.client = BOB;
    String other = rig.batch(rig.file(BatchRig.line("b")), "");
    answer.countDown();
    rig.await(other, "completed");
    rig.client = ALICE;
    rig.await(batch, "completed");
    assertThat(create(file).status()).isEqualTo(200);
  }

  @Test
  void storedBatches() throws Exception {
    rig.client = BOB;
    String others = rig.batch(rig.file(BatchRig.line("b")), "");
    rig.await(others, "completed");

    rig.client = ALICE;
    String file = rig.file(BatchRig.line("a"));
    String oldest = rig.batch(file, "");
    rig.await(oldest, "completed");
    String second = "";
    for (int i = 0; i < 10; i++) {
      String next = rig.batch(file, "");
      rig.await(next, "completed");
      second = i == 0 ? next : second;
    }
    assertThat(rig.get("/v1/batches/" + oldest).status()).isEqualTo(404);
    assertThat(rig.get("/v1/batches/" + second).status()).isEqualTo(200);
    rig.client = BOB;
    assertThat(rig.get("/v1/batches/" + others).status()).isEqualTo(200);
  }
}
