@NullMarked
package io.pointsman.app.admin;

import org.jspecify.annotations.NullMarked;
