/** Proxies that carry the bytes themselves, real ones, and a router that decides for them. */
@NullMarked
package io.pointsman.it.plane;

import org.jspecify.annotations.NullMarked;
