/** TLS towards clients: certificates from PEM files, and their replacement at run time. */
@NullMarked
package io.pointsman.proxy.tls;

import org.jspecify.annotations.NullMarked;
