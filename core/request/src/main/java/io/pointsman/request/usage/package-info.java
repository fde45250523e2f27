/** Token counts and aborts in engines' answers. */
@NullMarked
package io.pointsman.request.usage;

import org.jspecify.annotations.NullMarked;
