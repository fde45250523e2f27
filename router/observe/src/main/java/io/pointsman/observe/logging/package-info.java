/** Logging: asynchronous, as text or JSON, without prompts and keys. */
@NullMarked
package io.pointsman.observe.logging;

import org.jspecify.annotations.NullMarked;
