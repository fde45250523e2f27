/** The wire format of batches of KV events. */
@NullMarked
package io.pointsman.control.kvevents.wire;

import org.jspecify.annotations.NullMarked;
