/** The records that the registry of keys is read into, one for each part of the router. */
@NullMarked
package io.pointsman.config.settings;

import org.jspecify.annotations.NullMarked;
