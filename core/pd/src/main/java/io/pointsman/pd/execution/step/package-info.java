/** Requests to prefill workers, and requests that only free blocks: send, read, settle, retry. */
@NullMarked
package io.pointsman.pd.execution.step;

import org.jspecify.annotations.NullMarked;
