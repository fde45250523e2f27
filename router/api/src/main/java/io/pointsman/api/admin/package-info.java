/** Endpoints that the router answers itself: workers, health, models. */
@NullMarked
package io.pointsman.api.admin;

import org.jspecify.annotations.NullMarked;
