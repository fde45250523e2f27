/** Hears what engines announce of their KV caches, and where they announce it. */
@NullMarked
package io.pointsman.app.kvevents;

import org.jspecify.annotations.NullMarked;
