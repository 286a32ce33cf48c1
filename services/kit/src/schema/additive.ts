import type { IndexDescription } from '../store/operations.ts';
import type { Step } from './steps.ts';

/** The steps of each service, by its name. */
export type StepsByService = Readonly<Record<string, readonly Step[]>>;

/**
 * What is wrong with the steps of today, against those of the last release; empty when nothing is. A released
 * step stays as it is, since databases have it; new ones only add (steps.ts). The order of an index's fields
 * counts.
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
        step.number === i + 1 ? [] : [`${service}: step ${step.number} stands in place ${i + 1}`],
      ),
      ...before.flatMap((step, i) =>
        JSON.stringify(step) === JSON.stringify(now[i])
          ? []
          : [
              `${service}: step ${step.number} was released and databases have it: leave it as it was, and make ` +
                `the change in a step of its own (${Math.max(next, before.length + 1)})`,
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

/** True: the index covers only documents with a field that its key names; the step promises that the field is new. */
function isOfNewField({ key, partialFilterExpression = {} }: IndexDescription): boolean {
  return Object.entries(partialFilterExpression).some(
    ([field, condition]) => field in key && JSON.stringify(condition) === '{"$exists":true}',
  );
}
