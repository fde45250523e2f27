/** Compressed bodies of requests: their codings, and how they are decoded within a limit. */
@NullMarked
package io.pointsman.request.coding;

import org.jspecify.annotations.NullMarked;
