/** How the router logs: asynchronously, in text or JSON, never a prompt, never a key. */
@NullMarked
package io.pointsman.app.logging;

import org.jspecify.annotations.NullMarked;
