import type { Gauge } from 'prom-client';

/**
 * Sets a gauge to a value that a store tells. One that does not answer leaves out its own value, not those of the
 * whole process; readiness reports it (rule C18).
 */
export async function setOrLeaveOut<Label extends string>(
  gauge: Gauge<Label>,
  labels: Partial<Record<Label, string>>,
  value: () => Promise<number>,
): Promise<void> {
  try {
    gauge.set(labels, await value());
  } catch {
    gauge.remove(labels);
  }
}
