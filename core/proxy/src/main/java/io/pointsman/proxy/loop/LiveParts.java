package io.pointsman.proxy.loop;

import io.pointsman.engine.deferral.Deferral;
import io.pointsman.proxy.admission.Admissions;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.retry.Backoff;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.Cors;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import java.time.Duration;

/**
 * The parts of a server that follow from settings and can be replaced at run time. Immutable or
 * thread-safe.
 *
 * @param certificates true if clients can have certificates
 * @param hosts names under which clients reach the listener
 * @param sseKeepalive interval without bytes after which an event stream gets a comment; 0 for none
 */
public record LiveParts(
    ServedPaths paths,
    CallerCheck callers,
    boolean certificates,
    AllowedHosts hosts,
    LimitSettings limits,
    TimeoutSettings timeouts,
    HeaderSettings headers,
    Cors cors,
    RetrySettings retry,
    Backoff backoff,
    Admissions admissions,
    Deferral deferral,
    RequestIds requestIds,
    Duration sseKeepalive) {}
