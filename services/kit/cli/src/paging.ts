import { Option } from 'commander';
import { wholeNumber } from './numbers.ts';
import { visible } from './output.ts';

/** Maximum number of entries of one list. Services read 0 as their default, so 0 is rejected. */
const maxListed = 1000;

/** The option for the maximum number of entries that a list shows. `what`: the entries, and what the number is for. */
export function limitOption(what: string, each = ''): Option {
  return new Option(`--limit <${what}>`, `maximum to show${each}, up to ${maxListed}`)
    .argParser(wholeNumber(1, maxListed))
    .default(100);
}

/** The option to continue a list. */
export function afterOption(): Option {
  return new Option('--after <cursor>', 'continue after a cursor of an earlier call with the same filters');
}

/** Line below a list of `limit` rows, which may be incomplete; empty for a shorter list. */
export function moreHint(rows: readonly unknown[], limit: number): string {
  return rows.length === limit ? `There may be more: --limit shows up to ${maxListed}.\n` : '';
}

/** Line below a list that continues after a cursor; empty without a cursor. `there`: what follows. */
export function afterHint(cursor: string | null | undefined, there = 'More'): string {
  return cursor ? `${there}: --after ${visible(cursor)}\n` : '';
}
