package io.pointsman.proxy.loop;

import io.netty.channel.Channel;
import io.netty.util.AttributeKey;
import java.util.function.BooleanSupplier;

/**
 * Whether a client's connection was accepted under conditions that its listener does not have any
 * longer, for example in clear text. It ends after its requests in progress.
 */
public final class Outdated {
  private static final AttributeKey<BooleanSupplier> KEY =
      AttributeKey.valueOf(Outdated.class, "outdated");

  private Outdated() {}

  /** Sets the check of a channel, before its connection is made. */
  public static void set(Channel channel, BooleanSupplier check) {
    channel.attr(KEY).set(check);
  }

  /** The check of a channel. */
  public static BooleanSupplier of(Channel channel) {
    BooleanSupplier check = channel.attr(KEY).get();
    return check == null ? Outdated::never : check;
  }

  private static boolean never() {
    return false;
  }
}
