package io.pointsman.server.wiring;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A change of the configuration. All its parts come into force, or none. Parts are added while they
 * are prepared; {@link #apply} puts them into force in this order. One thread at a time.
 */
final class ConfigChange {
  private static final Logger log = LoggerFactory.getLogger(Router.class);

  private final UnaryOperator<ChangePart> around;
  private final List<ChangePart> parts = new ArrayList<>();

  /**
   * @param around gives the part to use in place of each part; tests let it fail
   */
  private ConfigChange(UnaryOperator<ChangePart> around) {
    this.around = around;
  }

  /** Prepares the parts of a change. */
  @FunctionalInterface
  interface Preparation {
    /**
     * Adds each part as soon as it is prepared.
     *
     * @throws IllegalArgumentException if something cannot be used
     */
    void of(ConfigChange change);
  }

  /** Opens a resource that replaces another one. */
  @FunctionalInterface
  interface Opening<R extends Replacement> {
    /**
     * Opens it, before it is in use.
     *
     * @throws IOException if that fails
     */
    R open() throws IOException;
  }

  /**
   * A change that can be applied.
   *
   * @throws IllegalArgumentException if something cannot be used; all parts are dropped then
   * @throws IllegalStateException if the router cannot change; all parts are dropped then
   */
  static ConfigChange prepared(UnaryOperator<ChangePart> around, Preparation preparation) {
    ConfigChange change = new ConfigChange(around);
    try {
      preparation.of(change);
      return change;
    } catch (IllegalArgumentException | IllegalStateException e) {
      change.dropAll();
      throw e;
    } catch (RuntimeException | Error e) {
      change.dropAll();
      throw ReloadFailedException.of("configuration", e);
    }
  }

  /** Adds a prepared part. */
  void add(ChangePart part) {
    parts.add(around.apply(part));
  }

  /**
   * Opens a resource, and adds the part that uses it.
   *
   * @throws IllegalArgumentException if it cannot be opened
   */
  <R extends Replacement> R open(String name, Opening<R> opening) {
    R opened;
    try {
      opened = opening.open();
    } catch (IOException e) {
      throw new IllegalArgumentException(String.valueOf(e.getMessage()), e);
    }
    add(ChangePart.of(name, opened));
    return opened;
  }

  /** Adds a part without resources of its own. */
  void add(String name, Runnable apply, Runnable undo) {
    add(ChangePart.of(name, apply, undo));
  }

  /**
   * Puts all parts into force, or none.
   *
   * @throws ReloadFailedException if a part fails
   */
  void apply() {
    Deque<ChangePart> begun = new ArrayDeque<>();
    for (ChangePart part : parts) {
      begun.push(part);
      try {
        part.apply().run();
      } catch (RuntimeException | Error e) {
        ReloadFailedException failure = ReloadFailedException.of(part.name(), e);
        begun.forEach(each -> undo(each, failure));
        dropAll();
        throw failure;
      }
    }
    finish();
  }

  private void finish() {
    for (ChangePart part : parts) {
      try {
        part.finish().run();
      } catch (RuntimeException | Error e) {
        log.error("{}: the earlier part is not released completely", part.name(), e);
      }
    }
  }

  /** A part that is not released does not matter for the configuration in force. */
  private void dropAll() {
    for (ChangePart part : parts.reversed()) {
      try {
        part.drop().run();
      } catch (RuntimeException | Error e) {
        log.error("{}: the new part is not released completely", part.name(), e);
      }
    }
  }

  /** Undoes a part. A failure does not prevent the others. */
  private static void undo(ChangePart part, RuntimeException reason) {
    try {
      part.undo().run();
    } catch (RuntimeException | Error e) {
      reason.addSuppressed(ReloadFailedException.of(part.name(), e));
    }
  }
}
