/** What engines announce of their KV caches, and an index of it. */
@NullMarked
package io.pointsman.engine.kv;

import org.jspecify.annotations.NullMarked;
