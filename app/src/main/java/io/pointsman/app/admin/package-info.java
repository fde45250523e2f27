/** What the router answers itself: its workers, its health, the models of its fleet. */
@NullMarked
package io.pointsman.app.admin;

import org.jspecify.annotations.NullMarked;
