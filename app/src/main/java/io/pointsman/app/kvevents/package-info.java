/** Subscriptions to the KV events of engines, including the discovery of their publishers. */
@NullMarked
package io.pointsman.app.kvevents;

import org.jspecify.annotations.NullMarked;
