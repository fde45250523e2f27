/** Checks of request bodies and the form of rerank answers, as vllm-router has them. */
@NullMarked
package io.pointsman.request.strict;

import org.jspecify.annotations.NullMarked;
