/** The page of decisions, and what the shadow policy would decide. */
@NullMarked
package io.pointsman.api.decisions;

import org.jspecify.annotations.NullMarked;
