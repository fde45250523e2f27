package io.pointsman.config.value;

import java.io.Serial;

/** An invalid item of a list, with its own position: in a long list, the list's does not help. */
public final class InvalidItem extends IllegalArgumentException {
  @Serial private static final long serialVersionUID = 1;

  private final String where;

  /**
   * @param index index of the item in the list
   * @param cause the mistake in the item
   */
  InvalidItem(int index, RawValue item, IllegalArgumentException cause) {
    super("[" + index + "]: " + cause.getMessage(), cause);
    where = item.where();
  }

  /** Position of the item, as {@link RawValue#where}. */
  public String where() {
    return where;
  }
}
