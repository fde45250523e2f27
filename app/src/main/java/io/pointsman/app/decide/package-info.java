/** The decision service over HTTP, for external proxies that forward requests themselves. */
@NullMarked
package io.pointsman.app.decide;

import org.jspecify.annotations.NullMarked;
