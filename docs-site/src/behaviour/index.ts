import { startCode } from './code';
import { startDetails } from './details';
import { startLinks } from './links';
import { startParts } from './parts';
import { startSignature } from './signature';
import { startTabs } from './tabs';
import { startValues } from './values';

/** Starts the interactive behaviour of fragments. Call once, before the first render. */
export function startBehaviours(): void {
  startCode();
  startTabs();
  startValues();
  startDetails();
  startLinks();
  startParts();
  startSignature();
}
