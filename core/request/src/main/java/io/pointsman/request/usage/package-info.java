/** Token counts at the end of engines' answers. */
@NullMarked
package io.pointsman.request.usage;

import org.jspecify.annotations.NullMarked;
