/** Subscriptions to the KV events of engines, including the discovery of their publishers. */
@NullMarked
package io.pointsman.control.kvevents;

import org.jspecify.annotations.NullMarked;
