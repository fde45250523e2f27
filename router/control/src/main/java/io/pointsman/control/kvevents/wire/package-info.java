/** The wire format of KV events: the connecting side of ZeroMQ's protocol, and batches. */
@NullMarked
package io.pointsman.control.kvevents.wire;

import org.jspecify.annotations.NullMarked;
