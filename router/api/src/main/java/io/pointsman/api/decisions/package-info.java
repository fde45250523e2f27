/** The page of decisions, and the comparison with the shadow policy. */
@NullMarked
package io.pointsman.api.decisions;

import org.jspecify.annotations.NullMarked;
