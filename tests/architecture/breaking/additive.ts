import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { Step } from '@headset-cloud/store/schema/steps.ts';

/** The steps of each service, by its name. */
export type StepsByService = Readonly<Record<string, readonly Step[]>>;

/**
 * Returns the problems of today's steps, compared with the last release; empty if there are none. A released
 * step must not change, because databases have it; new steps only add (steps.ts). The order of an index's fields
 * matters.
 */
export function stepProblems(released: StepsByService, today: StepsByService): string[] {
  const services = [...new Set([...Object.keys(released), ...Object.keys(today)])];
  return services.flatMap((service) => {
    const before = released[service] ?? [];
    const now = today[service] ?? [];
    const known = new Set(before.flatMap(({ indexes }) => Object.keys(indexes)));
    const next = now.length + (now.length < before.length ? 0 : 1);
    return [
      ...now.flatMap((step, i) =>
        step.number === i + 1 ? [] : [`${service}: step ${step.number} is at position ${i + 1}`],
      ),
      ...before.flatMap((step, i) =>
        JSON.stringify(step) === JSON.stringify(now[i])
          ? []
          : [
              `${service}: step ${step.number} was released and databases have it: do not change it, and add ` +
                `a new step (${Math.max(next, before.length + 1)}) with the change`,
            ],
      ),
      ...now.slice(before.length).flatMap(({ number, indexes }) =>
        Object.entries(indexes).flatMap(([collection, list]) =>
          list
            .filter(
              (index) => (index.unique && !isOfNewField(index)) || index.expireAfterSeconds !== undefined,
            )
            .filter(() => known.has(collection))
            .map(
              ({ name }) =>
                `${service}: step ${number} makes ${collection}.${name}, which refuses or deletes what the last release writes`,
            ),
        ),
      ),
    ];
  });
}

/** True if the index covers only documents with a field of its key; the step promises that the field is new. */
function isOfNewField({ key, partialFilterExpression = {} }: IndexDescription): boolean {
  return Object.entries(partialFilterExpression).some(
    ([field, condition]) => field in key && JSON.stringify(condition) === '{"$exists":true}',
  );
}
