/** Request readers that threads share, and headers as a map. */
@NullMarked
package io.pointsman.request.reader;

import org.jspecify.annotations.NullMarked;
