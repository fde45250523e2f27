/** Changes to JSON bodies that leave every byte that they do not concern as it came. */
@NullMarked
package io.pointsman.request.splice;

import org.jspecify.annotations.NullMarked;
