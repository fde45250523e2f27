package io.pointsman.engine.disagg.plan;

import java.time.Duration;

/**
 * Notifications to be waited for between prefill and decode, beside the prefill's answer. They may
 * come before that, so whoever waits must listen before the prefill request is sent.
 *
 * @param id what they carry
 * @param notifications how many; at least 1
 * @param atMost how long to wait for them after the prefill's answer
 */
public record Await(String id, int notifications, Duration atMost) {}
