/** The KV events of engines and an index over them. */
@NullMarked
package io.pointsman.engine.kv;

import org.jspecify.annotations.NullMarked;
