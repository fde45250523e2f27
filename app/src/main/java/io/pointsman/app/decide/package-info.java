/** Choice over HTTP, for planes that carry the bytes themselves. */
@NullMarked
package io.pointsman.app.decide;

import org.jspecify.annotations.NullMarked;
