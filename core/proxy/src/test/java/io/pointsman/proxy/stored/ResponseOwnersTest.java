package io.pointsman.proxy.stored;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ResponseOwnersTest {
  private final ResponseOwners owners = new ResponseOwners(4, new StoredSearches(1, () -> 0));

  private void learn(String client, String... ids) {
    for (String id : ids) {
      owners.learn(id, "w", client);
    }
  }

  private void assertKnown(String... ids) {
    for (String id : ids) {
      assertThat(owners.owner(id)).as(id).isEqualTo("w");
    }
  }

  @Test
  void aCreatorCannotRemoveTheResponsesOfOthers() {
    learn("key/alice", "a1", "a2");
    learn("key/bob", "b1", "b2", "b3", "b4");
    assertKnown("a1", "a2", "b3", "b4");
    assertThat(owners.owner("b2")).isNull();

    learn("key/carol", "c1");
    assertThat(owners.owner("a1")).as("the least recently used one of all").isNull();
    assertKnown("a2", "b3", "b4", "c1");
  }

  @Test
  void oneCreatorMayHaveAllAndLosesTheLeastRecentlyUsed() {
    learn("key/alice", "a1", "a2", "a3", "a4");
    assertKnown("a1");
    learn("key/alice", "a5");
    assertKnown("a1", "a3", "a4", "a5");
    assertThat(owners.owner("a2")).isNull();
  }

  @Test
  void aForgottenResponseDoesNotCount() {
    learn("key/bob", "b1", "b2");
    learn("key/alice", "a1", "a2");
    owners.forget("a1");
    owners.forget("a2");
    owners.left("b1");
    learn("key/alice", "a3", "a4");
    assertKnown("b2", "a3", "a4");
    assertThat(owners.mayUse("b1", "key/bob", false)).isTrue();
    learn("key/alice", "a5");
    assertKnown("b2", "a4", "a5");
    assertThat(owners.owner("a3")).isNull();
  }
}
