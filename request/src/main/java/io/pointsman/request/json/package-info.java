/** Reads JSON bytes in one pass: no tree, no recursion, blocks of text hashed on the way. */
@NullMarked
package io.pointsman.request.json;

import org.jspecify.annotations.NullMarked;
