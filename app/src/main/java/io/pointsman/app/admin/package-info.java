/** Endpoints that the router answers itself: workers, health, models. */
@NullMarked
package io.pointsman.app.admin;

import org.jspecify.annotations.NullMarked;
