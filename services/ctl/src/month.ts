import { InvalidArgumentError, Option } from 'commander';

/** A month of a year. */
export interface Month {
  readonly year: number;
  readonly month: number;
}

/** The mandatory option for a month. The service checks whether the month exists. */
export function monthOption(): Option {
  return new Option('--month <month>', 'month, for example 2026-11').argParser(month).makeOptionMandatory();
}

function month(text: string): Month {
  const [, year, month] = /^(\d{4})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined) throw new InvalidArgumentError('It is not a month such as 2026-11.');
  return { year: Number(year), month: Number(month) };
}
