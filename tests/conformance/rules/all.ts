import { activations } from './activations.ts';
import { addresses } from './addresses.ts';
import { changes } from './changes.ts';
import { clock } from './clock.ts';
import { drop } from './drop.ts';
import { loads } from './loads.ts';
import { offers } from './offers.ts';
import { once } from './once.ts';
import { operations } from './operations.ts';
import { reports } from './reports.ts';
import { revoke } from './revoke.ts';
import { session } from './session.ts';
import { updates } from './updates.ts';

/** Every rule, in the order of the page. */
export const rules = [
  ...[...session, ...clock, ...offers, ...once, ...drop, ...revoke],
  ...[...reports, ...activations, ...changes, ...operations, ...updates, ...loads, ...addresses],
] as const;
