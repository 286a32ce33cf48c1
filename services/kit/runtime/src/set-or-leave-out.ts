import type { Gauge } from 'prom-client';

/**
 * Sets a gauge to a value from a store. If the store does not answer, only this value is missing, not the metrics of the
 * whole process; readiness reports the store (rule C18).
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

/** The same for a gauge with labels from a store: removes values that the store no longer returns. */
export async function setAllOrLeaveOut<Label extends string>(
  gauge: Gauge<Label>,
  values: () => Promise<Iterable<readonly [labels: Record<Label, string>, value: number]>>,
): Promise<void> {
  try {
    const all = await values();
    gauge.reset();
    for (const [labels, value] of all) gauge.set(labels, value);
  } catch {
    gauge.reset();
  }
}

/** Queries a store once for all gauges of a scrape. */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
