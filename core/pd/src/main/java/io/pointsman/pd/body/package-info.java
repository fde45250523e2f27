/** Reads the bodies of requests and replies for prefill and decode. */
@NullMarked
package io.pointsman.pd.body;

import org.jspecify.annotations.NullMarked;
