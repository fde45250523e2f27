/** Recent activity of the fleet: figures of the last minute by worker, and a ring of one hour. */
@NullMarked
package io.pointsman.observe.activity;

import org.jspecify.annotations.NullMarked;
