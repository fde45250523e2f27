/** Classes in a package of the router that break the rules of the architecture on purpose. */
@NullMarked
package io.pointsman.server.planted;

import org.jspecify.annotations.NullMarked;
