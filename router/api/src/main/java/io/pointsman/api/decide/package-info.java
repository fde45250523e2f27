/** The decision service over HTTP, for external proxies that forward requests themselves. */
@NullMarked
package io.pointsman.api.decide;

import org.jspecify.annotations.NullMarked;
