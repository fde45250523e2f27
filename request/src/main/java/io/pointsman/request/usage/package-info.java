/** What engines say of tokens, found at the end of their answers. */
@NullMarked
package io.pointsman.request.usage;

import org.jspecify.annotations.NullMarked;
