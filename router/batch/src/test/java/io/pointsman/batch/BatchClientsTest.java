package io.pointsman.batch;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.CallerCheck;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The check of clients that also knows the requests of batches. */
@Timeout(120)
class BatchClientsTest {
  @TempDir Path directory = Path.of("unset");

  /** A check by a server. */
  private static final class Confirming implements CallerCheck {
    @Override
    public Verdict known(@Nullable String authorization) {
      return Verdict.UNKNOWN;
    }

    @Override
    public Verdict ask(String authorization) {
      return Verdict.ADMITTED;
    }

    @Override
    public boolean confirms() {
      return true;
    }
  }

  @Test
  void otherClientsHaveTheSameOwnersAsWithoutBatches() {
    BatchClients clients = new BatchClients(() -> "secret", _ -> null);
    CallerCheck confirming = clients.around(new Confirming());
    assertThat(confirming.confirms()).isTrue();
    assertThat(confirming.identifies()).isTrue();
    CallerCheck open = clients.around(CallerCheck.NONE);
    assertThat(open.confirms()).isFalse();
    assertThat(open.identifies()).isFalse();
  }

  /** While the directory changes, the batches of the earlier one stop. */
  @Test
  void theRequestsOfAnEarlierStoreCountForTheirClients() throws Exception {
    BatchClients later = new BatchClients(() -> "other", _ -> null);
    try (BatchRig rig = new BatchRig(directory).started()) {
      AtomicReference<CallerCheck.@Nullable Principal> found = new AtomicReference<>();
      rig.script =
          _ -> {
            String secret = String.valueOf(rig.secrets.peek());
            found.set(rig.principalOf(secret, ClientIdentity.UNKNOWN, later::around));
            return BatchRig.ok("{}");
          };
      rig.client = new ClientIdentity(ClientIdentity.Kind.KEY, "alice", Set.of());
      rig.await(rig.batch(rig.file(BatchRig.line("a")), ""), "completed");
      assertThat(requireNonNull(found.get(), "client").client().name()).isEqualTo("alice");
      assertThat(rig.principalOf("other", ClientIdentity.UNKNOWN, later::around)).isNull();
    }
  }

  /** The key of its requests is that of batches, which is the same for all clients. */
  @Test
  void theOwnerOfABatchOwnsTheResponsesOfItsRequests() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      AtomicReference<String> owner = new AtomicReference<>();
      rig.script =
          _ -> {
            String secret = String.valueOf(rig.secrets.peek());
            CallerCheck.Principal found = rig.principalOf(secret, ClientIdentity.UNKNOWN);
            owner.set(requireNonNull(found, "client").owner());
            return BatchRig.ok("{}");
          };
      rig.headers = Map.of("authorization", "Bearer k1");
      rig.await(rig.batch(rig.file(BatchRig.line("a")), ""), "completed");
      assertThat(owner.get())
          .startsWith("confirmed/")
          .isEqualTo(BatchRig.ownerOf(new Owners(true, 1), rig.client, rig.headers));
    }
  }
}
