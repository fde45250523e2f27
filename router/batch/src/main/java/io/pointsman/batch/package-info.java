/** Files and batches of requests, as in OpenAI's API, in a store that survives a restart. */
@NullMarked
package io.pointsman.batch;

import org.jspecify.annotations.NullMarked;
