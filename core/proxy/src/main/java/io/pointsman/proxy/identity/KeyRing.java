package io.pointsman.proxy.identity;

import org.jspecify.annotations.Nullable;

/** The keys of the router, with names and roles. They may change at any time. Any thread. */
public interface KeyRing {
  /** No keys. */
  KeyRing NONE =
      new KeyRing() {
        @Override
        public @Nullable KeyHolder holderOf(String key) {
          return null;
        }

        @Override
        public boolean guards(KeyRole role) {
          return false;
        }
      };

  /** The holder of a key; null if the key is unknown or has expired. Must not block. */
  @Nullable KeyHolder holderOf(String key);

  /**
   * The present holder with a name; null if it has no valid key any more. Must not block.
   *
   * @param name the name of a client by its key
   */
  default @Nullable KeyHolder holderNamed(String name) {
    return null;
  }

  /**
   * True if there has been a key of this role since the start, valid or not. Its part then needs a
   * key: the loss of the last one must not open it to everybody.
   */
  boolean guards(KeyRole role);
}
