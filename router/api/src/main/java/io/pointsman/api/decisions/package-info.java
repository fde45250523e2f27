/** The log of decisions, and the decisions of the shadow policy. */
@NullMarked
package io.pointsman.api.decisions;

import org.jspecify.annotations.NullMarked;
