/** Logging: asynchronous, as text or JSON, without prompts and keys. */
@NullMarked
package io.pointsman.app.logging;

import org.jspecify.annotations.NullMarked;
