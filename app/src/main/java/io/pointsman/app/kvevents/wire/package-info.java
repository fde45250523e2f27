/** KV events as they come: ZeroMQ's wire protocol from the connecting side, and batches. */
@NullMarked
package io.pointsman.app.kvevents.wire;

import org.jspecify.annotations.NullMarked;
